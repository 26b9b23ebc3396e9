"""The key R: recordings of what the window shows."""
import re

import harness
import pictures
from windows import OnADisplay

WIDTH, HEIGHT = 640, 360
FRAME_BYTES = 3 * WIDTH * HEIGHT
BEGUN = r"recording in (framewire-\d{8}-\d{6}(?:-\d+)?\.y4m) until R is pressed again"


class WindowRecording(OnADisplay):
    def begin(self, viewer: harness.Program, after: int = 0) -> str:
        self.press("r")
        return viewer.wait_line(BEGUN, after=after).group(1)

    def has_grown(self, name: str, frames: int):
        """Waits for so many more frames in the file."""
        film = self.file(name)
        before = film.stat().st_size
        harness.wait_until(lambda: film.stat().st_size >= before + frames * FRAME_BYTES, f"{frames} frames")

    def end(self, viewer: harness.Program, name: str) -> int:
        """Returns how many frames the viewer says that it has recorded."""
        self.press("r")
        return self.said_frames(viewer, name)

    def said_frames(self, viewer: harness.Program, name: str) -> int:
        return int(viewer.wait_line(re.escape(name) + r" has ended: (\d+) frames?, \d+ pictures dropped").group(1))

    def quit(self, sender, viewer):
        self.press("q")
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.checked_stats(sender, viewer)

    def title(self) -> str:
        return self.tool("xdotool", "getwindowname", self.window)

    def has_mark(self, picture=None) -> bool:
        """The red dot at the lower right of the window, which is at the upper left of the picture."""
        picture = picture or self.screen()
        return any(red > 220 and 40 < green < 90 and 40 < blue < 90
                   for x in range(WIDTH - 120, WIDTH) for y in range(HEIGHT - 50, HEIGHT)
                   for red, green, blue in [picture.at(x / picture.width, y / picture.height)])

    def film(self, name: str, count: int, rate="20:1") -> bytes:
        """Checks the file. Returns its last frame as RGB, by ffmpeg's decoder."""
        header, frames = pictures.y4m_frames(self.file(name).read_bytes(), FRAME_BYTES)
        self.assertEqual(header, f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{rate} Ip A1:1 C444 XCOLORRANGE=LIMITED")
        self.assertEqual(len(frames), count)
        rgb = pictures.read_by_ffmpeg("-i", self.file(name), "-pix_fmt", "rgb24")
        self.assertEqual(len(rgb), count * FRAME_BYTES)
        return rgb[-FRAME_BYTES:]

    def assert_bars(self, frame: bytes):
        """The window's picture, upright, and without the viewer's words."""
        picture = pictures.Picture(WIDTH, HEIGHT, 3, frame)
        self.assertTrue(self.has_bars(picture, at_y=0.2), "the bars are at the top")
        self.assertFalse(self.has_bars(picture, at_y=0.95), "and the ramp is at the bottom")
        self.assertFalse(self.has_mark(picture))

    def test_r_records_and_r_ends_it(self):
        sender, viewer = self.start_bars()
        harness.wait_until(self.has_bars, "the bars on the screen")
        self.assertFalse(self.has_mark())
        name = self.begin(viewer)
        harness.wait_until(lambda: f"recording in {name}" in self.title(), "the title")
        harness.wait_until(self.has_mark, "the mark in the picture")
        self.press("h")
        self.has_grown(name, 20)
        count = self.end(viewer, name)
        harness.wait_until(lambda: "recording" not in self.title(), "the usual title")
        harness.wait_until(lambda: not self.has_mark(), "a picture without the mark")
        self.assertGreaterEqual(count, 20)
        self.assert_bars(self.film(name, count))
        self.assertTrue(viewer.is_running())
        self.quit(sender, viewer)
        stats = self.stats(viewer)
        self.assertEqual((stats["frames_recorded"], stats["pictures_recorded"]), (0, None), "they are of --output")
        self.assertEqual(self.file(name).stat().st_size % (FRAME_BYTES + len("FRAME\n")),
                         len(pictures.y4m_frames(self.file(name).read_bytes(), FRAME_BYTES)[0]) + 1)

    def test_recordings_have_files_of_their_own_and_quitting_ends_the_last(self):
        sender, viewer = self.start_bars()
        first = self.begin(viewer)
        self.has_grown(first, 3)
        count = self.end(viewer, first)
        before = self.file(first).read_bytes()
        second = self.begin(viewer, after=len(viewer.lines))
        self.assertNotEqual(second, first)
        self.has_grown(second, 3)
        self.quit(sender, viewer)
        self.assert_bars(self.film(second, self.said_frames(viewer, second)))
        self.assertEqual(self.file(first).read_bytes(), before)
        self.film(first, count)

    def test_the_recording_of_the_option_goes_on(self):
        film = self.file("frames.y4m")
        sender, viewer = self.start_bars("--output", film)
        name = self.begin(viewer)
        self.assertRegex(viewer.text, re.escape(name) + " until R is pressed again; --output goes on by itself")
        self.has_grown(name, 10)
        count = self.end(viewer, name)
        size = film.stat().st_size
        harness.wait_until(lambda: film.stat().st_size > size + 320 * 180 * 3 * 3, "more frames of --output")
        self.quit(sender, viewer)
        self.assert_bars(self.film(name, count))
        _, frames = pictures.y4m_frames(film.read_bytes(), 3 * 320 * 180)
        stats = self.stats(viewer)
        self.assertEqual(stats["frames_recorded"] + stats["frames_unrecorded"], stats["frames_received"])
        self.assertEqual(len(frames), stats["frames_recorded"] + stats["frames_repeated"])

    def test_two_streams_and_the_option(self):
        """Both recordings are of the picture. That of the option has what came before and after."""
        sender = self.send_on("pattern", "pattern", "--name", "a", "--name", "b", "--size", "320x180", "--fps", "20")
        film = self.file("picture.y4m")
        hosts = [f"{sender.address}/{name}" for name in "ab"]
        viewer = self.open_window(*hosts, "--layout", "overlay", "--size", "640x360", "--output", film)
        viewer.wait_line("shown [1-9]")
        harness.wait_until(self.has_bars, "the bars on the screen")
        name = self.begin(viewer)
        self.has_grown(name, 10)
        count = self.end(viewer, name)
        self.assert_bars(self.film(name, count))
        self.press("q")
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        stats = self.read_stats(viewer.stats_file)
        self.assertGreaterEqual(stats["pictures_recorded"] + stats["pictures_repeated"], count)
        self.film("picture.y4m", stats["pictures_recorded"] + stats["pictures_repeated"])

    def view_with(self, *prefix) -> tuple[harness.Program, harness.Program]:
        sender = self.send_on("pattern", "--size", "320x180", "--fps", "20")
        viewer = self.view(sender.address, "--size", "640x360", headless=False, environment=self.with_display(),
                           terminal=True, prefix=prefix)
        self.find_window()
        viewer.wait_line("shown [1-9]")
        return sender, viewer

    def goes_on(self, viewer: harness.Program):
        viewer.wait_line("shown [1-9]", after=len(viewer.lines))
        harness.wait_until(self.has_bars, "the bars on the screen")
        harness.wait_until(lambda: not self.has_mark(), "a picture without the mark")
        self.assertNotIn("recording", self.title())

    def test_a_full_disk_ends_the_recording_only(self):
        """A file size limit (RLIMIT_FSIZE) simulates a full disk without root."""
        sender, viewer = self.view_with("prlimit", f"--fsize={7 * FRAME_BYTES}")
        name = self.begin(viewer)
        viewer.wait_line("recording has stopped, the stream goes on")
        self.goes_on(viewer)
        self.quit(sender, viewer)
        self.one_message(viewer, "recording has stopped, the stream goes on", re.escape(name), "6 whole frames")
        self.film(name, 6)

    def test_a_folder_that_takes_no_files(self):
        sender, viewer = self.view_with("env", "--chdir=/proc")
        self.press("r")
        viewer.wait_line("cannot write the recording")
        self.goes_on(viewer)
        self.press("r")  # begins anew, and fails anew
        harness.wait_until(lambda: viewer.text.count("cannot write the recording") == 2, "the second message")
        self.quit(sender, viewer)
        self.assertEqual(len(viewer.complaints()), 2, viewer.text)

    def test_without_a_picture_there_is_no_file(self):
        viewer = self.open_window(f"127.0.0.1:{self.refusing_port()}", "--size", "640x360")
        name = self.begin(viewer)
        harness.wait_until(self.has_mark, "the mark")
        self.press("r")
        viewer.wait_line(f"there is no recording in {name}: no picture was shown")
        self.assertFalse(self.file(name).exists())
        self.press("q")
        self.ends(viewer)


if __name__ == "__main__":
    harness.main()
