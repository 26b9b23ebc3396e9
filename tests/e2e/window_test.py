"""The viewer's window: pictures, keys, and how it ends."""
import re

import harness
import pictures
from windows import SCREEN, OnADisplay


class Window(OnADisplay):
    def geometry(self) -> tuple[int, int]:
        words = dict(line.split("=")
                     for line in self.tool("xdotool", "getwindowgeometry", "--shell", self.window).splitlines())
        return int(words["WIDTH"]), int(words["HEIGHT"])

    def end(self, sender, viewer):
        viewer.interrupt()
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.checked_stats(sender, viewer)

    def test_a_screenshot_is_upright(self):
        """At the stream's own size, and scaled: the viewer draws these two in different ways."""
        for size in ("320x180", "640x360"):
            with self.subTest(size=size):
                saved = self.file(f"shot{size}.png")
                sender, viewer = self.start_bars("--screenshot", saved, size=size)
                harness.wait_until(lambda: self.has_bars(at_y=0.05), "the bars on the screen")
                self.press("q")
                self.ends(viewer)
                picture = pictures.read_png(saved)
                self.assertEqual(f"{picture.width}x{picture.height}", size)
                self.assertTrue(self.has_bars(picture, at_y=0.2), "the bars are at the top")
                self.assertFalse(self.has_bars(picture, at_y=0.95), "and the ramp is at the bottom")
                self.end(sender, viewer)

    def test_it_shows_the_picture_and_q_quits(self):
        sender, viewer = self.start_bars()
        self.assertEqual(self.geometry(), (640, 360))
        harness.wait_until(self.has_bars, "the bars on the screen")
        self.press("q")
        self.ends(viewer)
        self.assertGreater(self.stats(viewer)["frames_shown"], 0)
        self.end(sender, viewer)

    def test_escape_quits(self):
        sender, viewer = self.start_bars()
        self.press("Escape")
        self.ends(viewer)
        self.end(sender, viewer)

    def test_f_fills_the_screen_and_back(self):
        sender, viewer = self.start_bars()
        self.press("f")
        harness.wait_until(lambda: self.geometry() == SCREEN, "the window to fill the screen")
        # 16:9 on 16:10: the picture between black bars above and below.
        picture = harness.wait_until(lambda: (lambda p: p if self.has_bars(p, 0.4) else None)(self.screen()),
                                     "the picture")
        self.assertEqual(picture.at(0.5, 0.02), (0, 0, 0))
        self.assertEqual(picture.at(0.5, 0.98), (0, 0, 0))
        self.press("f")
        harness.wait_until(lambda: self.geometry() == (640, 360), "the window as it was")
        self.end(sender, viewer)

    def test_fullscreen_from_the_start(self):
        sender, viewer = self.start_bars("--fullscreen", "--monitor", "1")
        self.assertEqual(self.geometry(), SCREEN)
        self.end(sender, viewer)
        self.assertEqual(self.stats(viewer)["surface"], f"fullscreen {SCREEN[0]}x{SCREEN[1]}")

    def test_h_shows_the_panel(self):
        sender, viewer = self.start_bars()
        harness.wait_until(self.has_bars, "the bars on the screen")

        def bright_pixels() -> int:
            """Counts near-white pixels in the upper part of the window. The bars at 75 % have none."""
            picture = self.screen()
            return sum(min(picture.at(x / SCREEN[0], y / SCREEN[1])) > 200
                       for x in range(0, 640) for y in range(0, 200, 2))

        before = bright_pixels()
        self.press("h")
        harness.wait_until(lambda: bright_pixels() > before + 50, "text on the picture")
        self.press("h")
        harness.wait_until(lambda: bright_pixels() <= before + 10, "the panel to go")
        self.end(sender, viewer)

    def test_s_takes_a_screenshot(self):
        sender, viewer = self.start_bars()
        self.press("s")
        name = viewer.wait_line(r"screenshot in (framewire-.*\.png)").group(1)
        picture = pictures.read_png(self.file(name))
        self.assertEqual((picture.width, picture.height), (640, 360))
        self.assertGreaterEqual(picture.colours(), 8)
        self.assertTrue(viewer.is_running())
        self.end(sender, viewer)

    def test_resizing_keeps_the_aspect(self):
        sender, viewer = self.start_bars()
        self.tool("xdotool", "windowsize", self.window, 300, 600)
        harness.wait_until(lambda: self.geometry() == (300, 600), "the new size")

        def is_letterboxed() -> bool:
            picture = self.screen()
            return picture.at(150 / SCREEN[0], 20 / SCREEN[1]) == (0, 0, 0) and self.has_bars(picture, 265 / SCREEN[1])

        harness.wait_until(is_letterboxed, "the picture in the middle, black around it")
        self.end(sender, viewer)

    def test_minimised_it_takes_frames_and_draws_none(self):
        sender, viewer = self.start_bars()
        harness.wait_until(self.has_bars, "the bars on the screen")

        def counts() -> tuple[int, int]:
            """The counts in the newest status line."""
            shown, superseded = re.findall(r"shown (\d+) · superseded (\d+)", viewer.text)[-1]
            return int(shown), int(superseded)

        self.minimise_as_a_window_manager_does(True)
        before = counts()
        hidden = harness.wait_until(lambda: (lambda now: now if now[1] >= before[1] + 15 else None)(counts()),
                                    "frames that are passed over")
        later = harness.wait_until(lambda: (lambda now: now if now[1] >= hidden[1] + 30 else None)(counts()),
                                   "more of them")
        self.assertEqual(later[0], hidden[0], "frames were drawn that nobody can see")
        self.minimise_as_a_window_manager_does(False)
        harness.wait_until(lambda: counts()[0] >= later[0] + 10, "frames that are shown again")
        harness.wait_until(self.has_bars, "the bars on the screen again")
        self.end(sender, viewer)

    def test_a_line_says_that_a_stopped_sender_brings_nothing(self):
        """Over shared memory it is not lost, and nothing else has the picture drawn."""
        sender, viewer = self.start_bars()

        def rows(begin: int, end: int) -> bytes:
            """Of the window, without the right half, in whose corner there is nothing."""
            screen = self.screen()
            return b"".join(screen.pixels[3 * SCREEN[0] * y:3 * (SCREEN[0] * y + 320)] for y in range(begin, end))

        sender.pause()
        upper = harness.wait_until(lambda: now if (now := rows(0, 300)) == rows(0, 300) else b"",
                                   "a picture that stays")
        corners = {rows(330, 358)}
        harness.wait_until(lambda: corners.add(rows(330, 358)) or len(corners) > 2, "seconds that are counted")
        self.assertEqual(rows(0, 300), upper, "the picture itself is as it was")
        viewer.wait_line(r" · no frame for \d+ s$")
        sender.go_on()
        viewer.wait_line(r"skipped \d+$", after=len(viewer.lines))
        harness.wait_until(lambda: rows(0, 300) != upper, "the picture to go on")
        self.press("q")
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])

    def test_closing_the_window_ends_it(self):
        sender, viewer = self.start_bars()
        self.close_as_a_window_manager_does()
        self.ends(viewer)
        self.end(sender, viewer)

    def test_a_waiting_picture_then_the_stream_then_what_was_lost(self):
        port = harness.free_port()
        viewer = self.open_window(f"127.0.0.1:{port}", "--size", "640x360")

        def is_waiting_picture() -> bool:
            picture = self.screen()
            pixels = [picture.at(x / SCREEN[0], y / SCREEN[1]) for x in range(0, 640, 2) for y in range(0, 360, 2)]
            is_dark = sum(max(pixel) < 70 for pixel in pixels) > 0.8 * len(pixels)
            return is_dark and any(min(pixel) > 200 for pixel in pixels)

        harness.wait_until(is_waiting_picture, "the waiting picture")
        sender = self.send("pattern", "--size", "320x180", "--fps", "20", "--listen", f"127.0.0.1:{port}")
        harness.wait_until(self.has_bars, "the bars on the screen")
        sender.kill()
        viewer.wait_line("lost the sender: ")

        def is_lost_picture() -> bool:
            """Whether the window shows the last picture dimmed, with a dark banner in the middle."""
            picture = self.screen()
            banner = [picture.at(x / SCREEN[0], 180 / SCREEN[1]) for x in range(200, 440)]
            return sum(max(pixel) < 70 for pixel in banner) > 100 and not self.has_bars(picture)

        harness.wait_until(is_lost_picture, "the notice that it lost the sender")
        again = self.send("pattern", "--size", "320x180", "--fps", "20", "--listen", f"127.0.0.1:{port}")
        harness.wait_until(self.has_bars, "the bars again")
        again.interrupt()
        self.ends(again)
        self.ends(viewer)
        self.assertEqual(self.stats(viewer)["sessions"], 2)

    def test_the_screen_itself_is_a_source(self):
        sender, viewer = self.start_bars()
        harness.wait_until(self.has_bars, "the bars on the screen")
        grabber = self.send_on(f"x11grab:{self.display}", "--fps", "10")
        headless = self.view(grabber.address, "--frames", "5", "--size", f"{SCREEN[0]}x{SCREEN[1]}",
                             "--screenshot", self.file("grabbed.png"))
        self.ends(headless)
        grabber.interrupt()
        self.ends(grabber)
        self.assertTrue(self.has_bars(pictures.read_png(self.file("grabbed.png"))))
        self.assertEqual(self.stats(headless)["frames_torn"], None)
        self.stats(grabber)
        self.end(sender, viewer)

    def test_a_monitor_that_is_not_there(self):
        viewer = self.view("127.0.0.1:1", "--monitor", "9", headless=False, environment=self.with_display())
        self.ends(viewer, harness.USAGE)
        self.one_message(viewer, "--monitor is 9", "1 screen|this display has")


if __name__ == "__main__":
    harness.main()
