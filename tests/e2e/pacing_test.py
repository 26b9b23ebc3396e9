"""When the viewer shows frames: by refreshes, by presentation times, as the sender is told, after a stall."""
import csv
import math
import re
import signal
import statistics
import time

import harness
import slow_way
from windows import OnADisplay

PATTERN = ("pattern:stamped", "--size", "320x180", "--fps", "60")
PERIOD_MS = 1000 / 60


class Pacing(OnADisplay):
    def times(self, file) -> list[dict]:
        """The lines of --frame-times: each frame's stages follow one another, and no frame comes twice."""
        with file.open(newline="") as lines:
            frames = [{name: int(value) if value else None for name, value in line.items()}
                      for line in csv.DictReader(lines)]
        stages = ("begun_ns", "completed_ns", "offered_ns", "received_ns", "selected_ns", "uploaded_ns", "shown_ns")
        for frame in frames:
            at = [frame[stage] for stage in stages if frame[stage] != 0]
            self.assertEqual(at, sorted(at), frame)
        numbers = [frame["sequence"] for frame in frames]
        self.assertEqual(numbers, sorted(set(numbers)))
        return frames

    def shown(self, viewer) -> dict:
        self.ends(viewer)
        stats = self.stats(viewer)
        self.assertGreater(stats["frames_shown"], 0)
        return stats

    def test_a_headless_viewer_is_refreshed_as_a_screen_is(self):
        sender = self.send_on(*PATTERN)
        file = self.file("times.csv")
        stats = self.shown(self.view(sender.address, "--refresh", "50", "--frames", "60", "--frame-times", file))
        self.assertAlmostEqual(stats["refresh_hz"], 50, 3)
        self.assertIsNone(stats["pacing_delay_ms"])
        frames = self.times(file)
        self.assertEqual(len(frames), stats["frames_shown"])
        # Each is shown at a refresh of its own.
        at = [frame["shown_ns"] for frame in frames]
        for one, other in zip(at, at[1:]):
            refreshes = (other - one) / 20e6
            self.assertGreaterEqual(round(refreshes), 1)
            self.assertAlmostEqual(refreshes, round(refreshes), 3)
        # The file names it.
        self.assertEqual([frame["refresh_ns"] for frame in frames], at)
        for one, other in zip(frames, frames[1:]):
            self.assertEqual(other["refresh"] - one["refresh"], round((other["shown_ns"] - one["shown_ns"]) / 20e6))
        self.assertGreater(frames[0]["refresh"], 0)

    def test_without_refreshes_no_frame_has_one(self):
        sender = self.send_on(*PATTERN)
        file = self.file("times.csv")
        self.shown(self.view(sender.address, "--frames", "20", "--frame-times", file))
        self.assertIn(",shown_ns,refresh,refresh_ns\n", file.read_text())
        self.assertEqual({(frame["refresh"], frame["refresh_ns"]) for frame in self.times(file)}, {(None, None)})

    def test_paced_by_presentation_times(self):
        sender = self.send_on(*PATTERN)
        for screen in (("--refresh", "60"), ()):
            with self.subTest(screen):
                viewer = self.view(sender.address, "--paced", "--frames", "90", *screen)
                stats = self.shown(viewer)
                self.assertGreaterEqual(stats["pacing_jitter_ms"], 0)
                self.assertGreater(stats["pacing_delay_ms"], 0)
                self.assertEqual(stats["frames_received"], 90)
                self.assertRegex(viewer.text, r"pacing   chosen [\d.]+ ms after the quickest arrival")

    def test_a_ring_that_is_too_small_is_told_once(self):
        """Frames of 60 a second that come up to 30 ms late need to wait for more than the one that 3 slots allow."""
        sender = self.send_on(*PATTERN, "--transport", "tcp", "--insecure")
        way = slow_way.SlowWay(sender.port, 0, 0.03)
        self.addCleanup(way.close)
        viewer = self.view(way.address, "--paced", "--refresh", "60", "--transport", "tcp", "--insecure",
                           terminal=True)
        found = viewer.wait_line(r"frames need to wait ([\d.]+) ms to be shown evenly, and --slots 3 of the sender "
                                 r"allows 16\.7 ms; start it with --slots (\d)")
        # The time is rounded.
        needed = [math.ceil((float(found.group(1)) + off) / PERIOD_MS) + 2 for off in (-0.06, 0.06)]
        self.assertIn(int(found.group(2)), [min(slots, 9) for slots in needed])
        shown = int(re.findall(r"shown (\d+)", viewer.text)[-1])
        harness.wait_until(lambda: int(re.findall(r"shown (\d+)", viewer.text)[-1]) > shown + 300, "more frames")
        viewer.interrupt()
        self.shown(viewer)
        self.assertEqual(viewer.text.count("frames need to wait"), 1)

    def test_paced_and_every_frame(self):
        sender = self.send_on(*PATTERN, "--delivery", "every")
        stats = self.shown(self.view(sender.address, "--paced", "--refresh", "60", "--frames", "90"))
        self.assertEqual((stats["frames_shown"], stats["frames_superseded"], stats["frames_skipped"]), (90, 0, 0))

    def test_a_window_learns_the_refreshes_of_its_screen(self):
        sender = self.send_on(*PATTERN)
        viewer = self.open_window(sender.address, "--size", "640x360", "--paced")
        viewer.wait_line("shown [1-9]")
        time.sleep(2)  # not a deadline: the screen's refreshes are counted meanwhile
        viewer.interrupt()
        stats = self.shown(viewer)
        # Xvfb counts 60 refreshes a second, however busy the machine is.
        self.assertAlmostEqual(stats["refresh_hz"], 60, delta=1)

    def test_who_follows_a_cadence_and_who_does_not(self):
        for source in (("pattern", "--size", "320x180"), ("gl:", "--size", "64x36")):
            with self.subTest(source):
                sender = self.send_on(*source, "--fps", "60")
                first = self.view(sender.address, "--refresh", "60", "--cadence", terminal=True)
                first.wait_line("shown [0-9]{3}")  # it asks after 48 frames
                second = self.view(sender.address, "--refresh", "60", "--cadence")
                second.wait_line("does not follow --cadence: another viewer has asked for its cadence before")
                for viewer in (first, second):
                    viewer.interrupt()
                    self.shown(viewer)
                self.assertNotIn("--cadence:", first.text)
                sender.interrupt()
                self.ends(sender)
        sender = self.send_on("lavfi:testsrc2=size=320x180:rate=60")
        viewer = self.view(sender.address, "--refresh", "60", "--cadence")
        viewer.wait_line("does not follow --cadence: this source has times of its own")
        viewer.interrupt()
        self.shown(viewer)

    def test_frames_of_a_sender_that_follows_a_cadence_wait_less(self):
        """At 9.9 frames a second for 10 refreshes, frames that nobody asks for in time wait for anything from nothing
        to a tenth of a second. That is long beside what other work on this machine delays."""
        viewers = []
        for options in (("--cadence",), ()):
            sender = self.send_on("pattern", "--size", "64x36", "--fps", "9.9")
            file = self.file(f"times-{len(viewers)}.csv")
            viewers.append((self.view(sender.address, "--refresh", "10", "--frames", "200", "--frame-times", file,
                                      *options), file))
        waits_ms = []
        for viewer, file in viewers:
            self.shown(viewer)
            # By then it has asked twice: for the period, and for a shift.
            settled = [frame for frame in self.times(file) if frame["received_ns"] and frame["sequence"] >= 120]
            self.assertGreater(len(settled), 40)
            waits_ms.append(statistics.median(frame["shown_ns"] - frame["received_ns"] for frame in settled) / 1e6)
        self.assertLess(waits_ms[0], 0.6 * waits_ms[1], waits_ms)

    def latency_around_a_stall_ms(self, victim_name, *options) -> tuple[float, float]:
        """The median latency before one end was stopped for half a second, and from a second after that on."""
        sender = self.send_on(*PATTERN)
        file = self.file("times.csv")
        viewer = self.view(sender.address, "--refresh", "60", "--frame-times", file, *options)
        viewer.wait_line("transport=")
        time.sleep(3)
        victim = {"sender": sender, "viewer": viewer}[victim_name]
        stopped_ns = time.monotonic_ns()
        victim.pause()
        time.sleep(0.5)
        victim.signal(signal.SIGCONT)
        goes_on_ns = time.monotonic_ns()
        time.sleep(3)
        viewer.interrupt()
        self.shown(viewer)
        sender.interrupt()
        self.ends(sender)
        latencies = [(frame["shown_ns"], (frame["shown_ns"] - frame["completed_ns"]) / 1e6)
                     for frame in self.times(file)]
        before = [latency for at, latency in latencies if at < stopped_ns]
        after = [latency for at, latency in latencies if at > goes_on_ns + 1e9]
        return statistics.median(before), statistics.median(after)

    def test_a_second_after_a_stall_the_latency_is_as_before(self):
        for victim in ("sender", "viewer"):
            for options in ((), ("--paced",)):
                with self.subTest(f"{victim} {options}"):
                    # Other work on this machine delays frames, too: one of some runs without it is enough.
                    for _ in range(5):
                        before_ms, after_ms = self.latency_around_a_stall_ms(victim, *options)
                        if abs(after_ms - before_ms) <= PERIOD_MS:
                            break
                    self.assertLessEqual(abs(after_ms - before_ms), PERIOD_MS)

    def test_times_that_cannot_be_written(self):
        sender = self.send_on(*PATTERN)
        viewer = self.view(sender.address, "--frame-times", "/nowhere/times.csv")
        self.ends(viewer, harness.FAILED)
        self.assertIn("--frame-times is '/nowhere/times.csv', which cannot be written", viewer.text)
        viewer = self.view(sender.address, "--frames", "3", "--frame-times", "/dev/full")
        self.ends(viewer, harness.FAILED)
        self.assertIn("cannot write the frame times to '/dev/full': No space left on device", viewer.text)


if __name__ == "__main__":
    harness.main()
