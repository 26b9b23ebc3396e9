"""The viewer's window on the X server of a Wayland compositor (Xwayland under weston), as many desktops have it.

A compositor without a screen has no keyboard and no mouse either: xwayland_desktop_test.py gives it some.
"""
import harness
import pictures
import weston
from windows import OnADisplay

SIZE = (640, 360)


class Xwayland(OnADisplay):
    def start_server(self) -> str:
        """weston without a screen."""
        self.server, display = weston.start(self, "--backend=headless-backend.so")
        return display

    def screen(self) -> pictures.Picture:
        """A picture of the window: the root window of such a server has no content."""
        saved = self.file("window.rgb")
        saved.unlink(missing_ok=True)
        self.tool("ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "x11grab", "-draw_mouse", "0", "-video_size",
                  f"{SIZE[0]}x{SIZE[1]}", "-window_id", self.window, "-i", self.display, "-frames:v", "1",
                  "-f", "rawvideo", "-pix_fmt", "rgb24", saved)
        pixels = saved.read_bytes() if saved.exists() else b""
        return pictures.Picture(*SIZE, 3, pixels or bytes(SIZE[0] * SIZE[1] * 3))

    def end(self, sender: harness.Program, viewer: harness.Program):
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.assertGreater(self.checked_stats(sender, viewer)[1]["frames_shown"], 0)

    def test_it_shows_the_picture_until_the_window_is_closed(self):
        sender, viewer = self.start_bars("--screenshot", self.file("shot.png"))
        harness.wait_until(self.has_bars, "the bars in the window")
        self.close_as_a_window_manager_does()
        self.end(sender, viewer)
        self.assertRegex(self.stats(viewer)["surface"], r"window 640x360")
        self.assertTrue(self.has_bars(pictures.read_png(self.file("shot.png"))), "the screenshot has them, too")

    def test_ctrl_c_ends_it(self):
        sender, viewer = self.start_bars()
        viewer.interrupt()
        self.end(sender, viewer)


if __name__ == "__main__":
    harness.main()
