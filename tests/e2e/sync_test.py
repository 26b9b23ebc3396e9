"""--sync: frames of the same instant are shown together, although one stream has a longer way.

Each sender draws the time of day at which it began a frame. The pictures that the viewer records tell what it showed
together, whatever it says itself.
"""
import csv
import statistics
import time

import harness
import slow_way

BITS = 12
# 12 bars that are black or white: the time of day in steps of 1/64 s, in Gray code, with its lowest bit on the left.
# Pictures of neighbouring steps differ in one bar.
INSTANT = """
void mainImage(out vec4 fragColor, in vec2 fragCoord) {
  int steps = int(iDate.w * 64.0) & 4095;
  int code = steps ^ (steps >> 1);
  fragColor = vec4(vec3(float((code >> int(12.0 * fragCoord.x / iResolution.x)) & 1)), 1.0);
}
"""
STEP_MS = 1000 / 64
FPS = 30
PERIOD_MS = 1000 / FPS
WIDTH, HEIGHT = 192, 54  # of the recorded picture: two cells
FRAME_BYTES = WIDTH * HEIGHT * 4
WAY_MS = 120  # of the far stream
FORGOTTEN_S = 0.5  # SyncGroup::forgotten_after_ns
LATE_NS = 600_000_000  # longer than anybody waits: SyncGroup::longest_wait_ns is 250 ms
HELD = 3
NEAR, FAR = 1, 2  # the streams' numbers in --frame-times
ENOUGH_PICTURES = 100


def number(bits: list[bool]) -> int:
    """Of a Gray code, lowest bit first."""
    code = sum(1 << place for place, bit in enumerate(bits) if bit)
    value = 0
    while code:
        value ^= code
        code >>= 1
    return value


class Sync(harness.EndToEnd):
    def setUp(self):
        super().setUp()
        self.file("instant.frag").write_text(INSTANT)
        self.film, self.times = self.file("film.rgba"), self.file("times.csv")

    def send_instants(self, slots: int = 8) -> harness.Program:
        return self.send_on("gl:instant.frag", "--size", f"{WIDTH // 2}x{HEIGHT}", "--fps", FPS, "--slots", slots,
                            "--transport", "tcp", "--insecure")

    def far_way_to(self, sender: harness.Program) -> slow_way.SlowWay:
        way = slow_way.SlowWay(sender.port, WAY_MS / 1000)
        self.addCleanup(way.close)
        return way

    def view_beside(self, near: harness.Program, far: slow_way.SlowWay, *options) -> harness.Program:
        """The near stream on the left, and the far one on the right; returns once both are recorded."""
        self.film.unlink(missing_ok=True)
        viewer = self.view(near.address, far.address, "--layout", "side", "--size", f"{WIDTH}x{HEIGHT}",
                           "--refresh", "60", "--output", self.film, "--frame-times", self.times,
                           "--transport", "tcp", "--insecure", *options, terminal=True)
        harness.wait_until(lambda: viewer.text.count("transport=tcp") == 2, "the first frame of each stream")
        self.wait_for_pictures(20)  # the first ones
        return viewer

    def pictures_recorded(self) -> int:
        return self.film.stat().st_size // FRAME_BYTES if self.film.exists() else 0

    def wait_for_pictures(self, more: int) -> int:
        """Returns how many there were before."""
        before = self.pictures_recorded()
        harness.wait_until(lambda: self.pictures_recorded() >= before + more, f"{more} more pictures")
        return before

    def end(self, viewer: harness.Program) -> tuple[dict, dict]:
        """The statistics of the near and of the far stream."""
        viewer.interrupt()
        self.ends(viewer)
        near, far = self.read_stats(viewer.stats_file)["streams"]
        for stream in (near, far):
            self.assertEqual(stream["frames_received"], stream["frames_shown"] + stream["frames_superseded"], stream)
            self.assertLessEqual(stream["frames_unsynchronised"], stream["frames_shown"])
        return near, far

    def ages_apart_ms(self, begin: int) -> float:
        """By how much the far picture is older than the near one: the median of all recorded from number `begin` on."""
        data = self.film.read_bytes()
        wrap = 1 << BITS
        apart = []
        for frame in range(begin * FRAME_BYTES, len(data), FRAME_BYTES):
            row = frame + HEIGHT // 2 * WIDTH * 4
            bits = [data[row + int((bar + 0.5) * WIDTH / 2 / BITS) * 4] > 127 for bar in range(2 * BITS)]
            steps = number(bits[:BITS]) - number(bits[BITS:])
            apart.append(((steps + wrap // 2) % wrap - wrap // 2) * STEP_MS)
        return statistics.median(apart)

    def assert_together(self, begin: int):
        self.assertLessEqual(abs(self.ages_apart_ms(begin)), PERIOD_MS)

    def shown(self, stream: int) -> list[dict]:
        """The lines of --frame-times about that stream."""
        with self.times.open(newline="") as lines:
            frames = [{name: int(value or 0) for name, value in line.items()} for line in csv.DictReader(lines)]
        return [frame for frame in frames if frame["stream"] == stream]

    def waits_ms(self, begin_s: float, end_s: float) -> float:
        """How long frames of the near stream waited for their choice: the median of those that came in that time."""
        return statistics.median((frame["selected_ns"] - frame["received_ns"]) / 1e6 for frame in self.shown(NEAR)
                                 if begin_s * 1e9 <= frame["received_ns"] < end_s * 1e9)

    def test_without_it_each_is_shown_as_it_comes(self):
        near, far = self.send_instants(), self.send_instants()
        viewer = self.view_beside(near, self.far_way_to(far))
        begin = self.wait_for_pictures(ENOUGH_PICTURES)
        counts = self.end(viewer)
        self.assertGreater(self.ages_apart_ms(begin), WAY_MS / 2)
        self.assertEqual([stream["frames_unsynchronised"] for stream in counts], [0, 0])

    def test_frames_of_one_instant_are_shown_together(self):
        near, far = self.send_instants(), self.send_instants()
        viewer = self.view_beside(near, self.far_way_to(far), "--sync")
        self.wait_for_pictures(2 * ENOUGH_PICTURES)  # the first frames are out of step: nobody knows the way yet
        begin = self.wait_for_pictures(ENOUGH_PICTURES)
        counts = self.end(viewer)
        self.assert_together(begin)
        self.assertGreater(counts[0]["pacing_delay_ms"], WAY_MS / 2)
        for stream in counts:
            self.assertLess(2 * stream["frames_unsynchronised"], stream["frames_shown"])

    def test_what_has_too_few_slots_to_wait_in_is_counted(self):
        near, far = self.send_instants(slots=3), self.send_instants()
        viewer = self.view_beside(near, self.far_way_to(far), "--sync")
        begin = self.wait_for_pictures(ENOUGH_PICTURES)
        counts = self.end(viewer)
        self.assertGreater(self.ages_apart_ms(begin), PERIOD_MS)
        self.assertGreater(2 * counts[0]["frames_unsynchronised"], counts[0]["frames_shown"])
        self.assertIn(f", {counts[0]['frames_unsynchronised']} out of step", viewer.text)

    def test_a_stalled_sender_is_not_waited_for_and_comes_back(self):
        near, far = self.send_instants(), self.send_instants()
        viewer = self.view_beside(near, self.far_way_to(far), "--sync")
        began_s = time.monotonic()
        self.wait_for_pictures(ENOUGH_PICTURES)
        stopped_s = time.monotonic()
        far.pause()
        # What was on its way still comes. From then on only the near stream makes new pictures.
        harness.wait_until(lambda: time.monotonic() > stopped_s + WAY_MS / 1000 + 2 * FORGOTTEN_S, "the stall")
        forgotten_s = time.monotonic()
        self.wait_for_pictures(40)
        goes_on_s = time.monotonic()
        far.go_on()
        self.wait_for_pictures(60)
        begin = self.wait_for_pictures(ENOUGH_PICTURES)
        self.end(viewer)
        # All frames wait longer on a busy machine, also those that only wait for their own stream. But these wait less
        # than before: without any of the far stream's way.
        waited_ms = self.waits_ms(began_s, stopped_s)
        self.assertGreater(waited_ms, WAY_MS / 2)
        self.assertLess(self.waits_ms(forgotten_s, goes_on_s), waited_ms - WAY_MS / 4)
        self.assert_together(begin)

    def test_late_frames_are_shown_and_counted(self):
        near, far = self.send_instants(), self.send_instants()
        way = self.far_way_to(far)
        viewer = self.view_beside(near, way, "--sync")
        for _ in range(HELD):
            self.wait_for_pictures(60)
            way.hold()  # what is on its way comes so much later
            self.wait_for_pictures(FPS)
            way.release()
        self.wait_for_pictures(60)
        begin = self.wait_for_pictures(ENOUGH_PICTURES)
        _, counts = self.end(viewer)
        late = [frame for frame in self.shown(FAR) if frame["received_ns"] - frame["begun_ns"] > LATE_NS]
        self.assertGreaterEqual(len(late), HELD)
        self.assertGreaterEqual(counts["frames_unsynchronised"], len(late))
        self.assertIn(f", {counts['frames_unsynchronised']} out of step", viewer.text)
        self.assert_together(begin)


if __name__ == "__main__":
    harness.main()
