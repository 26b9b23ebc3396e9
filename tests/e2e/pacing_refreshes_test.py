"""--paced, by the refreshes that the X server counts: a stream whose rate is not the screen's is shown in the rhythm of
its presentation times, although its frames arrive unevenly.

Which refresh a frame was chosen for follows here from when that was, and from what X Present tells a connection of the
test's own. The refreshes that --frame-times names are compared with those.
"""
import csv
import ctypes
import ctypes.util
import math
import re
import statistics
import struct
import typing

import harness
import slow_way
from windows import OnADisplay

JITTER_S = 0.03  # by how much frames arrive unevenly: more than a refresh
TCP = ("--transport", "tcp", "--insecure")
SIZE = ("--size", "64x36")
FRAMES = 500
ENOUGH = 60  # in an even stretch
MOST_WAITING = 8  # that are superseded at the end


class Refreshes:
    """X Present's counter for a window (presentproto.txt), by a connection of our own."""

    def __init__(self, display: str, window: int):
        self._xcb = ctypes.CDLL(ctypes.util.find_library("xcb"))
        self._present = ctypes.CDLL(ctypes.util.find_library("xcb-present"))
        self._xcb.xcb_connect.restype = self._xcb.xcb_wait_for_event.restype = ctypes.c_void_p
        self._connection = ctypes.c_void_p(self._xcb.xcb_connect(display.encode(), None))
        self._window = ctypes.c_uint32(window)
        complete_notify_mask = 2
        self._present.xcb_present_select_input(self._connection, self._xcb.xcb_generate_id(self._connection),
                                               self._window, complete_notify_mask)
        self._seen: list[tuple[int, int]] = []

    def observe(self):
        """Waits for the next refresh, and notes when it was and its number."""
        last = self._seen[-1][1] if self._seen else 0
        self._present.xcb_present_notify_msc(self._connection, self._window, 0, ctypes.c_uint64(last + 1),
                                             ctypes.c_uint64(0), ctypes.c_uint64(0))
        self._xcb.xcb_flush(self._connection)
        event = self._xcb.xcb_wait_for_event(self._connection)
        assert event, "the X server has closed the connection"
        # xcb_present_complete_notify_event_t: XCB puts a number of its own (full_sequence) between ust and msc.
        ust, msc = struct.unpack("=24xQ4xQ", ctypes.string_at(event, 44))
        self._seen.append((ust * 1000, msc))

    def close(self):
        self._xcb.xcb_disconnect(self._connection)

    def clock(self) -> "RefreshClock":
        (first_ns, first), (last_ns, last) = self._seen[0], self._seen[-1]
        period_ns = (last_ns - first_ns) / (last - first)
        # The server notices some late: the median evens that out.
        return RefreshClock(period_ns, statistics.median(ust_ns - msc * period_ns for ust_ns, msc in self._seen))


class RefreshClock(typing.NamedTuple):
    period_ns: float
    phase_ns: float

    def next_after(self, at_ns: int) -> int:
        """The number of the next refresh."""
        return math.ceil((at_ns - self.phase_ns) / self.period_ns)


class Stretch(typing.NamedTuple):
    """Of frames that were shown one after the other."""
    pairs: int = 0  # of neighbours
    repeats: int = 0  # refreshes that showed a frame once more
    wanted_repeats: float = 0  # by the presentation times
    skips: int = 0

    def __add__(self, other: "Stretch") -> "Stretch":
        return Stretch(*(one + another for one, another in zip(self, other)))


def longest_even_stretch(frames: list[dict], refreshes: RefreshClock) -> Stretch:
    """The longest in which each frame was shown at a refresh of its own, as many refreshes after the one before as
    their presentation times say, rounded up or down. Other work on this machine delays frames here and there."""
    longest = stretch = Stretch()
    for frame, later in zip(frames, frames[1:]):
        step = refreshes.next_after(later["selected_ns"]) - refreshes.next_after(frame["selected_ns"])
        wanted = (later["pts_ns"] - frame["pts_ns"]) / refreshes.period_ns
        if max(1, math.floor(wanted)) <= step <= math.ceil(wanted):
            stretch += Stretch(1, step - 1, wanted - 1, later["sequence"] - frame["sequence"] - 1)
        else:
            stretch = Stretch()
        longest = max(longest, stretch)
    return longest


class Paced(OnADisplay):
    def view_uneven(self, fps: int, *options) -> Stretch:
        sender = self.send_on("pattern", *SIZE, "--fps", fps, "--slots", 8, *TCP)
        way = slow_way.SlowWay(sender.port, 0, JITTER_S)
        self.addCleanup(way.close)
        times = self.file("times.csv")
        viewer = self.open_window(way.address, *SIZE, *TCP, "--frame-times", times, *options)
        viewer.wait_line(r"shown \d{3}")
        counter = Refreshes(self.display, int(self.window))
        while int(re.findall(r"shown (\d+)", viewer.text)[-1]) < FRAMES:
            counter.observe()
        counter.close()
        viewer.interrupt()
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        with times.open(newline="") as lines:
            frames = [{name: int(value or 0) for name, value in line.items()} for line in csv.DictReader(lines)]
        self.check_skips(self.stats(viewer), frames)
        refreshes = counter.clock()
        self.assertAlmostEqual(1e9 / refreshes.period_ns, 60, delta=0.6)
        stretch = longest_even_stretch(frames, refreshes)
        if stretch.pairs >= ENOUGH:  # else this machine has been too busy to see when the server refreshed
            self.check_refreshes(frames, refreshes)
        return stretch

    def check_refreshes(self, frames: list[dict], refreshes: RefreshClock):
        """--frame-times names the first refresh after a frame was shown, by the server's numbers."""
        named = [frame for frame in frames if frame["refresh_ns"] != 0]
        self.assertGreater(len(named), len(frames) / 2)
        for frame in named:
            self.assertGreater(frame["refresh_ns"], frame["shown_ns"])
            self.assertLess(frame["refresh_ns"] - frame["shown_ns"], 2 * refreshes.period_ns)
        off_ns = [frame["refresh_ns"] - refreshes.phase_ns - frame["refresh"] * refreshes.period_ns for frame in named]
        self.assertLess(abs(statistics.median(off_ns)), refreshes.period_ns / 2)

    def check_skips(self, stats: dict, frames: list[dict]):
        """What the statistics count is what lies between the frames that were shown, what came before the first of them
        while the viewer was getting ready, and what waited at the end."""
        counted = stats["frames_skipped"] + stats["frames_superseded"]
        not_shown = frames[-1]["sequence"] + 1 - len(frames)
        self.assertLessEqual(not_shown - frames[0]["sequence"], counted)
        self.assertLessEqual(counted, not_shown + 2 * MOST_WAITING)

    def even_stretch(self, fps: int) -> Stretch:
        for _ in range(5):
            stretch = self.view_uneven(fps, "--paced")
            if stretch.pairs >= ENOUGH:
                break
        self.assertGreaterEqual(stretch.pairs, ENOUGH, stretch)
        # When the delay grows, because arrivals vary more than before, a few frames are shown for longer.
        self.assertAlmostEqual(stretch.repeats, stretch.wanted_repeats, delta=1 + stretch.pairs / 20, msg=stretch)
        return stretch

    def test_a_slower_stream_repeats_at_the_right_refreshes(self):
        stretch = self.even_stretch(50)
        self.assertGreater(stretch.repeats, stretch.pairs / 10, stretch)  # of 60 refreshes 10: a fifth of the frames

    def test_a_quicker_stream_skips_at_the_right_refreshes(self):
        stretch = self.even_stretch(90)
        self.assertGreater(stretch.skips, stretch.pairs / 3, stretch)  # of 90 frames 30: half of those that are shown

    def test_without_it_frames_are_shown_as_they_arrive(self):
        stretch = self.view_uneven(50)
        self.assertLess(stretch.pairs, ENOUGH, stretch)


if __name__ == "__main__":
    harness.main()
