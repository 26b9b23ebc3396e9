"""A window that nobody can see: unmapped, covered by another one, or minimised. Frames still come and are recorded,
their slots go back to the sender, and the viewer ends when it is told to."""
import ctypes

import harness
from windows import SCREEN, OnADisplay

FRAME_BYTES = 320 * 180 * 4
SLOTS = 3


class HiddenWindow(OnADisplay):
    def unmap(self):
        self.tool("xdotool", "windowunmap", "--sync", self.window)

    def minimise(self):
        self.minimise_as_a_window_manager_does(True)

    def cover(self):
        """By a black window of another program, over the whole screen."""
        x11, display = self.open_display()
        x11.XDefaultRootWindow.restype = ctypes.c_ulong
        x11.XCreateSimpleWindow.restype = ctypes.c_ulong
        root = ctypes.c_ulong(x11.XDefaultRootWindow(display))
        window = ctypes.c_ulong(x11.XCreateSimpleWindow(display, root, 0, 0, *SCREEN, 0, ctypes.c_ulong(0),
                                                        ctypes.c_ulong(0)))
        x11.XMapRaised(display, window)
        x11.XSync(display, False)
        self.cover_of = x11, display  # the window goes with its connection

    def uncover(self):
        x11, display = self.cover_of
        x11.XCloseDisplay(display)

    def ways(self):
        """How to hide the window, and how to show it again."""
        yield "unmapped", self.unmap, lambda: self.tool("xdotool", "windowmap", "--sync", self.window)
        yield "covered", self.cover, self.uncover
        yield "minimised", self.minimise, lambda: self.minimise_as_a_window_manager_does(False)

    def start_hidden(self, hide, *options):
        sender = self.send_on("pattern", "--size", "320x180", "--fps", "20", "--delivery", "every", "--slots", SLOTS)
        viewer = self.open_window(sender.address, "--size", "640x360", *options)
        harness.wait_until(lambda: self.has_bars() or not viewer.is_running(), "the bars on the screen")
        if viewer.is_running():
            hide()
        harness.wait_until(lambda: not self.has_bars(), "the window to be hidden")
        return sender, viewer

    def check_counts(self, sender, viewer) -> dict:
        sender.interrupt()
        self.ends(sender)
        sent, shown = self.checked_stats(sender, viewer)
        self.assertEqual((sent["frames_skipped"], shown["frames_skipped"], shown["frames_lost"]), (0, 0, 0))
        return shown

    def test_frames_are_recorded_and_ctrl_c_ends_it(self):
        for name, hide, _ in self.ways():
            with self.subTest(name):
                film = self.file(f"{name}.raw")
                sender, viewer = self.start_hidden(hide, "--output", film)
                # Many more than there are slots: each must have come back to the sender.
                before = film.stat().st_size
                harness.wait_until(lambda: film.stat().st_size >= before + 20 * SLOTS * FRAME_BYTES, "recorded frames")
                self.assertFalse(self.has_bars(), "it is still hidden")
                viewer.interrupt()
                self.ends(viewer)
                shown = self.check_counts(sender, viewer)
                self.assertEqual(shown["frames_recorded"], shown["frames_received"])
                self.assertEqual(film.stat().st_size, shown["frames_recorded"] * FRAME_BYTES)

    def test_duration_ends_it(self):
        for name, hide, _ in self.ways():
            with self.subTest(name):
                def was_hidden(seconds: int, hide=hide) -> bool:
                    sender, viewer = self.start_hidden(hide, "--duration", f"{seconds}s")
                    is_in_time = viewer.is_running()
                    self.ends(viewer)
                    self.check_counts(sender, viewer)
                    return is_in_time
                harness.first_enough(was_hidden, 10, 25)

    def test_it_is_shown_again(self):
        for name, hide, show in self.ways():
            with self.subTest(name):
                sender, viewer = self.start_hidden(hide)
                show()
                harness.wait_until(self.has_bars, "the bars on the screen again")
                viewer.interrupt()
                self.ends(viewer)
                sender.interrupt()
                self.ends(sender)
                self.checked_stats(sender, viewer)


if __name__ == "__main__":
    harness.main()
