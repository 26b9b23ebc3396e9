"""Recordings of the picture that several streams make: pixels, counts, and how they end."""
import os
import re

import depth_test
import harness
import pictures
from windows import SCREEN, OnADisplay

WIDTH, HEIGHT = 160, 90
SIZE = f"{WIDTH}x{HEIGHT}"
PLANE_BYTES = WIDTH * HEIGHT
FRAME_BYTES = 3 * PLANE_BYTES
# Limited range, BT.601 below 720 lines, as readers of y4m assume: ITU-R BT.601-7, section 2.5.
YUV = {"red": (81, 90, 240), "blue": (41, 240, 110), "black": (16, 128, 128)}


def source(colour: str) -> str:
    return f"lavfi:color=c={colour}:size=64x36:rate=20,format=rgba"


class Recording(harness.EndToEnd):
    def send_two(self, *options) -> list[str]:
        """A sender of a red and a blue stream; returns their names for a viewer."""
        self.sender = self.send_on(source("red"), source("blue"), "--name", "red", "--name", "blue", *options)
        return [f"{self.sender.address}/{name}" for name in ("red", "blue")]

    def view_two(self, hosts, *options, **more) -> harness.Program:
        return self.view(*hosts, "--layout", "side", "--size", SIZE, *options, **more)

    def has_grown(self, film, frames: int) -> int:
        """Waits for so many more frames; returns how many there are at least."""
        def count() -> int:
            return film.stat().st_size // (FRAME_BYTES + len("FRAME\n")) if film.exists() else 0
        before = count()
        return harness.wait_until(lambda: (lambda now: now if now >= before + frames else 0)(count()),
                                  f"{frames} frames")

    def value(self, frame: bytes, x: float, y: float) -> tuple:
        at = int(y * HEIGHT) * WIDTH + int(x * WIDTH)
        return tuple(frame[plane * PLANE_BYTES + at] for plane in range(3))

    def assert_value(self, frame: bytes, x: float, y: float, colour: str):
        found = self.value(frame, x, y)
        self.assertTrue(all(abs(a - b) <= 2 for a, b in zip(found, YUV[colour])), f"{found} at {x}, {y}: no {colour}")

    def assert_side_by_side(self, frame: bytes):
        """Cells of 80x90, so that the pictures of 16:9 are 45 lines high."""
        for y in (0.27, 0.5, 0.73):
            self.assert_value(frame, 0.02, y, "red")
            self.assert_value(frame, 0.48, y, "red")
            self.assert_value(frame, 0.52, y, "blue")
            self.assert_value(frame, 0.98, y, "blue")
        for y in (0.02, 0.22, 0.78, 0.98):
            self.assert_value(frame, 0.25, y, "black")

    def recorded(self, viewer: harness.Program) -> int:
        """How many frames the recording has, as the statistics say. No stream is recorded by itself."""
        stats = self.read_stats(viewer.stats_file)
        for stream in stats["streams"]:
            self.assertEqual(stream["frames_received"], stream["frames_shown"] + stream["frames_superseded"], stream)
            self.assertEqual((stream["frames_recorded"], stream["frames_unrecorded"]), (0, 0))
        return stats["pictures_recorded"] + stats["pictures_repeated"]

    def check_film(self, viewer: harness.Program, film: bytes, rate="20:1") -> list[bytes]:
        header, frames = pictures.y4m_frames(film, FRAME_BYTES)
        self.assertEqual(header, f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{rate} Ip A1:1 C444 XCOLORRANGE=LIMITED")
        self.assertEqual(len(frames), self.recorded(viewer))
        return frames


class Headless(Recording):
    def test_every_frame_has_both_streams_once_they_have_come(self):
        film = self.file("film.y4m")
        viewer = self.view_two(self.send_two(), "--output", film, "--frames", "30", "--screenshot",
                               self.file("last.png"))
        self.ends(viewer)
        frames = self.check_film(viewer, film.read_bytes())
        self.assertEqual([stream["frames_received"] for stream in self.read_stats(viewer.stats_file)["streams"]],
                         [30, 30], "--frames ends it exactly")
        self.assertGreater(len(frames), 15)
        self.assert_side_by_side(frames[-1])
        whole = [all(self.value(frame, x, 0.5) != YUV["black"] for x in (0.25, 0.75)) for frame in frames]
        self.assertEqual(whole, sorted(whole), "a stream that has come stays")
        for frame in frames:  # the viewer's own words about a stream that has not come are not part of it
            self.assertIn(frame, (frames[0], frames[-1], self.one_of(frame)))
        screenshot = pictures.read_png(self.file("last.png"))
        rgb = pictures.read_by_ffmpeg("-i", film, "-pix_fmt", "rgb24")
        shown = pictures.Picture(WIDTH, HEIGHT, 3, rgb[-FRAME_BYTES:])
        for x in (0.1, 0.4, 0.6, 0.9):
            for y in (0.1, 0.5, 0.9):
                self.assertTrue(all(abs(a - b) <= 3 for a, b in zip(screenshot.at(x, y), shown.at(x, y))), (x, y))

    def one_of(self, frame: bytes) -> bytes:
        """The frame, if all of it is black or a stream's colour."""
        colours = set(zip(*(frame[plane * PLANE_BYTES:(plane + 1) * PLANE_BYTES] for plane in range(3))))
        near = [any(all(abs(a - b) <= 2 for a, b in zip(colour, known)) for known in YUV.values())
                for colour in colours]
        return frame if all(near) else b""

    def test_raw_frames_are_exact_and_at_the_rate_that_was_asked_for(self):
        film = self.file("film.rgba")
        viewer = self.view_two(self.send_two(), "--output", film, "--output-fps", "25", "--frames", "20",
                               "--screenshot", self.file("last.png"))
        self.ends(viewer)
        frames = film.read_bytes()
        count = self.recorded(viewer)
        self.assertEqual(self.read_stats(viewer.stats_file)["pictures_repeated"], 0)
        self.assertEqual(len(frames), count * 4 * PLANE_BYTES)
        last = pictures.Picture(WIDTH, HEIGHT, 4, frames[-4 * PLANE_BYTES:])
        for x, colour in ((0.25, (255, 0, 0)), (0.75, (0, 0, 255))):
            self.assertTrue(all(abs(a - b) <= 2 for a, b in zip(last.at(x, 0.5), colour)), last.at(x, 0.5))
        self.assertEqual(last.at(0.25, 0.05), (0, 0, 0))
        self.assertEqual(set(frames[3::4]), {255}, "opaque")
        self.assert_ends_as_the_screenshot(frames)

    def assert_ends_as_the_screenshot(self, raw: bytes):
        screenshot = pictures.read_png(self.file("last.png"))
        pixels = [screenshot.pixels[i::screenshot.channels] for i in range(3)]
        self.assertEqual([raw[-4 * PLANE_BYTES:][i::4] for i in range(3)], pixels)

    def test_a_picture_that_is_merged_by_depth(self):
        film = self.file("film.rgba")
        self.file("balls.frag").write_text(depth_test.BALLS)
        parts = [self.send_on(f"gl:balls.frag:{part}", "--pix-fmt", "rgba+grayf32le", "--size", SIZE)
                 for part in (1, 2)]
        viewer = self.view(*(part.address for part in parts), "--layout", "depth", "--size", SIZE, "--output", film,
                           "--screenshot", self.file("last.png"))

        recorded = pictures.RecordedPictures(film, WIDTH, HEIGHT)

        def is_whole() -> bool:
            last = recorded.newest()
            return last is not None and all(depth_test.has_ball(last, part)
                                            for part in (depth_test.RED, depth_test.GREEN))
        harness.wait_until(is_whole, "a picture with both parts in the recording")
        viewer.interrupt()
        self.ends(viewer)
        frames = film.read_bytes()
        self.assertEqual(len(frames), self.recorded(viewer) * 4 * PLANE_BYTES)
        self.assert_ends_as_the_screenshot(frames)

    def test_the_rate_is_that_of_refreshes_at_most(self):
        film = self.file("film.y4m")
        viewer = self.view_two(self.send_two(), "--output", film, "--refresh", "10", "--frames", "15")
        self.ends(viewer)
        self.assert_side_by_side(self.check_film(viewer, film.read_bytes(), "10:1")[-1])

    def test_ctrl_c_leaves_whole_frames_to_the_end(self):
        film = self.file("film.y4m")
        viewer = self.view_two(self.send_two(), "--output", film)
        viewer.wait_line("/blue: transport=")
        self.has_grown(film, 20)
        viewer.interrupt()
        self.ends(viewer)
        self.assert_side_by_side(self.check_film(viewer, film.read_bytes())[-1])
        self.assertNotIn("lacks", viewer.text)

    def test_duration_ends_it(self):
        film = self.file("film.y4m")
        hosts = self.send_two()

        def was_recorded(seconds: int) -> bool:
            """Not if the time was over before both streams had come, and a picture of them."""
            viewer = self.view_two(hosts, "--output", film, "--duration", f"{seconds}s")
            if viewer.wait_end() == harness.LOST or not film.exists():
                return False
            self.ends(viewer)
            self.assertGreater(len(self.check_film(viewer, film.read_bytes())), 0)
            return True  # how long the film is depends on when the viewer was allowed to look at the time
        harness.first_enough(was_recorded, 4, 8, 16)

    def test_streams_that_stand_still_are_repeated(self):
        film = self.file("film.y4m")
        viewer = self.view_two(self.send_two(), "--output", film)
        self.has_grown(film, 3)
        self.sender.pause()
        self.has_grown(film, 20)
        self.sender.go_on()
        viewer.interrupt()
        self.ends(viewer)
        self.check_film(viewer, film.read_bytes())
        self.assertGreaterEqual(self.read_stats(viewer.stats_file)["pictures_repeated"], 10)

    def test_a_stream_that_is_lost_leaves_its_last_picture_without_a_message(self):
        film = self.file("film.y4m")
        red = self.send_on(source("red"), "--name", "red")
        blue = self.send_on(source("blue"), "--name", "blue")
        viewer = self.view_two([red.address, blue.address], "--output", film)
        viewer.wait_line(re.escape(blue.address) + ": transport=")
        self.has_grown(film, 10)
        blue.kill()
        viewer.wait_line(re.escape(blue.address) + ": .*(connection|gone)")
        self.has_grown(film, 10)
        viewer.interrupt()
        self.ends(viewer)
        self.assert_side_by_side(self.check_film(viewer, film.read_bytes())[-1])

    def test_a_scene_of_one_layer_and_its_changes(self):
        film = self.file("film.y4m")
        red, blue = (f'[[layer]]\nsource = "{host}"\n' for host in self.send_two())
        scene = self.file("scene.toml")
        scene.write_text(red)
        viewer = self.view("--scene", scene, "--size", SIZE, "--output", film)
        self.has_grown(film, 3)
        scene.write_text('layout = "side"\n' + red + blue)
        viewer.wait_line("/blue: transport=")
        self.has_grown(film, 20)
        viewer.interrupt()
        self.ends(viewer)
        frames = self.check_film(viewer, film.read_bytes())
        for x in (0.02, 0.98):
            for y in (0.02, 0.98):
                self.assert_value(frames[0], x, y, "red")
        self.assert_side_by_side(frames[-1])

    def test_a_full_disk_stops_the_recording_only(self):
        viewer = self.view_two(self.send_two("--frames", "60"), "--output", "/dev/full")
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "recording has stopped, the stream goes on", "/dev/full", "No space left")
        stats = self.read_stats(viewer.stats_file)
        self.assertEqual(self.recorded(viewer), 0)
        self.assertGreater(stats["pictures_unrecorded"], 10)
        self.assertTrue(all(stream["frames_received"] > 10 for stream in stats["streams"]))

    def test_the_file_is_good_to_its_last_whole_frame(self):
        """A file size limit (RLIMIT_FSIZE) simulates a full disk without root."""
        film = self.file("film.y4m")
        viewer = self.view_two(self.send_two("--frames", "80"), "--output", film,
                               prefix=["prlimit", f"--fsize={5 * FRAME_BYTES + 1000}"])
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "recording has stopped", "5 whole frames")
        _, frames = pictures.y4m_frames(film.read_bytes(), FRAME_BYTES)
        self.assertEqual(len(frames), 5)

    def test_a_program_reads_it_and_leaves(self):
        reads, writes = os.pipe()
        viewer = self.view_two(self.send_two(), "--output", "-", stdout=writes)
        os.close(writes)
        with os.fdopen(reads, "rb") as pipe:
            self.assertRegex(pipe.readline().decode(), "^YUV4MPEG2 ")
            self.assertEqual(pipe.readline(), b"FRAME\n")
            self.assertEqual(len(pipe.read(FRAME_BYTES)), FRAME_BYTES)
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "the reader of standard output has gone")

    def test_a_program_that_does_not_read_delays_nothing(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        viewer = self.view(*self.send_two(), "--size", "1280x720", "--output", "-", "--frames", "40", stdout=writes)
        os.close(writes)
        harness.wait_until(lambda: viewer.is_running() and os.read(reads, 10), "the header")
        self.ends(viewer)
        stats = self.read_stats(viewer.stats_file)
        self.assertTrue(all(stream["frames_received"] == 40 for stream in stats["streams"]), stats)
        self.assertGreater(stats["pictures_unrecorded"], 0)


class InAWindow(OnADisplay, Recording):
    def open_side_by_side(self, *options) -> harness.Program:
        return self.open_window(*self.send_two(), "--layout", "side", "--size", SIZE, *options)

    def test_it_records_what_the_window_shows_without_panel_and_frame(self):
        film = self.file("film.y4m")
        viewer = self.open_side_by_side("--output", film)
        viewer.wait_line("/blue: transport=")
        self.has_grown(film, 20)
        self.press("h")
        self.press("Tab")
        harness.wait_until(lambda: any(min(picture.at(x / SCREEN[0], y / SCREEN[1])) > 200
                                       for picture in [self.screen()] for x in range(WIDTH) for y in range(HEIGHT)),
                           "the panel's white text")
        self.has_grown(film, 20)
        viewer.interrupt()
        self.ends(viewer)
        frames = self.check_film(viewer, film.read_bytes())
        self.assert_side_by_side(frames[-1])
        self.assertEqual(frames[-1], frames[-15])

    def test_another_size_of_the_window_is_fitted_into_the_first(self):
        film = self.file("film.y4m")
        viewer = self.open_side_by_side("--output", film)
        viewer.wait_line("/blue: transport=")
        count = self.has_grown(film, 20)
        self.tool("xdotool", "windowsize", self.window, 320, 90)
        harness.wait_until(lambda: "WIDTH=320" in self.tool("xdotool", "getwindowgeometry", "--shell", self.window),
                           "the new size")
        self.has_grown(film, 40)
        viewer.interrupt()
        self.ends(viewer)
        frames = self.check_film(viewer, film.read_bytes())
        self.assert_side_by_side(frames[count - 1])
        # 320x90 is 160x45 in the middle: two pictures of 80x45 that fill it.
        self.assert_side_by_side(frames[-1])

    def test_what_lies_over_the_window_is_not_recorded(self):
        film = self.file("film.y4m")
        viewer = self.open_side_by_side("--output", film)
        viewer.wait_line("/blue: transport=")
        self.has_grown(film, 10)
        covering = self.view(f"127.0.0.1:{self.refusing_port()}", "--size", "400x300", headless=False,
                             environment=self.with_display())
        harness.wait_until(lambda: len(re.findall(r"\d+", self.tool("xdotool", "search", "--onlyvisible", "--class",
                                                                    "framewire"))) >= 2, "the other window")
        self.has_grown(film, 20)
        viewer.interrupt()
        self.ends(viewer)
        covering.interrupt()
        covering.wait_end()
        self.assert_side_by_side(self.check_film(viewer, film.read_bytes())[-1])


if __name__ == "__main__":
    harness.main()
