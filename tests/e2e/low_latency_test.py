"""--low-latency: no vsync, and each frame is shown at once; without it pictures follow the refreshes of the screen."""
import csv
import os
import re
import unittest

import harness
from windows import OnADisplay

SWAP_INTERVAL = os.environ.get("FRAMEWIRE_SWAP_INTERVAL", "")  # libswap_interval.so
# Far more often than Xvfb counts refreshes. Two streams: a single one is shown as it comes where a software renderer
# draws, as here, which does not wait for refreshes.
STREAMS = ("pattern", "pattern", "--name", "one", "--name", "other", "--size", "64x36", "--fps", "200")
REFRESH_NS = 1e9 / 60


@unittest.skipIf(harness.IS_SANITIZED, "a sanitizer's library must be the first")
class LowLatency(OnADisplay):
    def view_for_a_while(self, *options) -> tuple[dict, list[int]]:
        """The statistics, and when pictures were chosen."""
        sender = self.send_on(*STREAMS)
        times, intervals = self.file("times.csv"), self.file("intervals")
        intervals.unlink(missing_ok=True)
        preloaded = {"LD_PRELOAD": SWAP_INTERVAL, "FRAMEWIRE_SWAP_INTERVALS": str(intervals)}
        viewer = self.view(sender.address, "--size", "64x36", "--frame-times", times, *options, headless=False,
                           environment=self.with_display() | preloaded, terminal=True)
        for hundreds in range(1, 11):
            harness.wait_until(lambda wanted=100 * hundreds: self.shown(viewer) >= wanted, "a hundred frames more")
        viewer.interrupt()
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        stats = self.read_stats(viewer.stats_file)
        stats["intervals"] = intervals.read_text().split()
        with times.open(newline="") as lines:
            # What is shown together has one time. The first refreshes are not known yet.
            chosen = {int(line["shown_ns"]): int(line["selected_ns"]) for line in csv.DictReader(lines)}
        return stats, sorted(chosen.values())[60:]

    @staticmethod
    def shown(viewer: harness.Program) -> int:
        return int((["0"] + re.findall(r"shown (\d+)", viewer.text))[-1])

    @staticmethod
    def crowded(chosen: list[int]) -> float:
        """The part of pictures that were chosen together with the next two within one refresh. Those that follow
        refreshes never are: a late one may come just before the next, and the third one period later."""
        thirds = zip(chosen, chosen[2:])
        return sum(third - first < REFRESH_NS for first, third in thirds) / len(chosen)

    def test_it_turns_vsync_off_and_shows_frames_at_once(self):
        stats, chosen = self.view_for_a_while("--low-latency")
        self.assertEqual(stats["intervals"], ["0"])
        self.assertIsNone(stats["refresh_hz"])
        self.assertGreater(self.crowded(chosen), 0.1)

    def test_without_it_pictures_follow_refreshes(self):
        for options in ((), ("--paced",)):
            with self.subTest(options):
                stats, chosen = self.view_for_a_while(*options)
                self.assertEqual(stats["intervals"], ["1"])
                self.assertAlmostEqual(stats["refresh_hz"], 60, delta=1)
                self.assertLess(self.crowded(chosen), 0.1)


if __name__ == "__main__":
    harness.main()
