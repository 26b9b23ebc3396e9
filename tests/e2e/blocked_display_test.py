"""A display that answers no more, as of a machine that hangs or a screen that sleeps: every swap of the viewer's window
blocks for ever. Frames still come, are counted and recorded, and the viewer ends when it is told to."""
import re
import signal

import harness
from windows import OnADisplay


class BlockedDisplay(OnADisplay):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.server.send_signal, signal.SIGCONT)

    def block(self):
        self.server.send_signal(signal.SIGSTOP)

    def block_with_motion(self, viewer):
        """The server has sent the pointer's way to the viewer, which takes it when the server answers no more."""
        viewer.pause()
        self.tool("xdotool", "mousemove", 100, 100, "mousemove", 110, 100, "mousedown", 1, "mousemove", 120, 100)
        self.tool("xdotool", "getmouselocation")  # the server has answered: it has done what came before
        self.block()
        viewer.go_on()

    def superseded(self, viewer) -> int:
        return int(re.findall(r"superseded (\d+)", viewer.text)[-1])

    def wait_for_superseded(self, viewer, count: int):
        harness.wait_until(lambda: self.superseded(viewer) >= count, f"{count} frames that are not shown")

    def end(self, sender, viewer):
        self.assertIn("the window system has not shown the last picture within a second", viewer.text)
        return self.end_sender(sender, viewer)

    def end_sender(self, sender, viewer):
        sender.interrupt()
        self.ends(sender)
        return self.checked_stats(sender, viewer)[1]

    def test_ctrl_c_ends_the_viewer(self):
        sender, viewer = self.start_bars()
        self.block()
        self.wait_for_superseded(viewer, 40)
        viewer.interrupt()
        self.ends(viewer)
        shown = self.end(sender, viewer)
        self.assertGreater(shown["frames_superseded"], 40)

    def test_ctrl_c_ends_the_viewer_when_the_pointer_has_moved(self):
        self.end_after_motion()

    def test_ctrl_c_ends_it_also_while_it_sends_input(self):
        self.end_after_motion("--input")

    def end_after_motion(self, *options):
        sender, viewer = self.start_bars(*options)
        before = self.superseded(viewer)
        self.block_with_motion(viewer)
        self.wait_for_superseded(viewer, before + 40)
        viewer.interrupt()
        self.ends(viewer)
        self.end_sender(sender, viewer)  # what blocks may also be something before a picture

    def test_duration_ends_it(self):
        sender, viewer = self.start_bars("--duration", "10s")
        self.block()
        self.ends(viewer)
        self.end(sender, viewer)

    def test_the_end_of_the_stream_ends_it(self):
        sender, viewer = self.start_bars()
        self.block()
        self.wait_for_superseded(viewer, 60)  # it has been blocked for longer than a slow picture takes
        sender.interrupt()
        self.ends(viewer)
        self.end(sender, viewer)

    def test_every_frame_is_recorded(self):
        film = self.file("film.raw")
        sender, viewer = self.start_bars("--output", film)
        self.block()
        self.wait_for_superseded(viewer, 40)
        viewer.interrupt()
        self.ends(viewer)
        shown = self.end(sender, viewer)
        self.assertEqual(shown["frames_recorded"] + shown["frames_unrecorded"], shown["frames_received"])
        self.assertGreater(shown["frames_recorded"], shown["frames_shown"] + 10)
        self.assertEqual(film.stat().st_size, shown["frames_recorded"] * 320 * 180 * 4)

    def test_a_display_that_comes_back_shows_the_stream_again(self):
        sender, viewer = self.start_bars()
        self.block()
        self.wait_for_superseded(viewer, 20)
        before = int(re.findall(r"shown (\d+)", viewer.text)[-1])
        self.server.send_signal(signal.SIGCONT)
        harness.wait_until(lambda: int(re.findall(r"shown (\d+)", viewer.text)[-1]) > before + 20, "shown frames")
        viewer.interrupt()
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.assertNotIn("has not shown", viewer.text)
        self.checked_stats(sender, viewer)


if __name__ == "__main__":
    harness.main()
