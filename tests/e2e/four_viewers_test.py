"""Four viewers of one sender: a stopped or killed one does not disturb the others. A fifth gets a reason."""
import time

import harness
import pictures

SIZE = (64, 36)
FRAME_BYTES = SIZE[0] * SIZE[1] * 4
FRAMES_DURING_THE_STOP = 300  # ten seconds: longer than the timeout for a silent peer
QUOTA = 3  # frames that a viewer may hold
SESSION_ENDED = r"^viewer .* \((local|tcp)\): "


class FourViewers(harness.EndToEnd):
    def start_four(self, transport: str):
        self.sender = self.send_on("pattern:stamped", "--size", f"{SIZE[0]}x{SIZE[1]}", "--fps", "30")
        self.records = [pictures.StampedRecording(self.file(f"{i}.rgba"), FRAME_BYTES) for i in range(4)]
        self.viewers = [self.view(self.sender.address, "--transport", transport, "--output", record.path)
                        for record in self.records]
        self.wait_for_frames(self.records, 10)

    def wait_for_frames(self, records, more: int):
        counts = [record.count() for record in records]
        harness.wait_until(lambda: all(record.count() >= count + more for record, count in zip(records, counts)),
                           f"{more} more frames")

    @staticmethod
    def newest(record) -> int:
        return record.sequences(record.count() - 1)[0]

    def check_went_on(self, records, since):
        """The viewers get current frames, and got those since `since` in their order."""
        newest = max(self.newest(record) for record in records)
        harness.wait_until(lambda: all(self.newest(record) >= newest for record in records), "the newest frame in each")
        for record, first in zip(records, since):
            numbers = record.sequences(first)
            self.assertEqual(numbers, sorted(set(numbers)))

    def end_well(self, viewers):
        self.sender.interrupt()
        self.ends(self.sender)
        for viewer in viewers:
            self.ends(viewer)
            self.assertEqual(self.stats(viewer)["frames_torn"], 0)
        return self.stats(self.sender)

    @staticmethod
    def lost(sessions: list[dict]) -> int:
        """Without the frames of a viewer that was stopped at the end: after Ctrl-C the sender waits for a second."""
        return sum(session["frames_lost"] for session in sessions
                   if "did not take the last frames in time" not in session["ending"])

    def check_one_stopped(self, transport: str):
        self.start_four(transport)
        others, stopped = self.records[:3], self.records[3]
        self.viewers[3].pause()
        since, last = [record.count() for record in others], stopped.count()
        self.wait_for_frames(others, 15)  # by now the stopped viewer has used its quota
        memory_kb = self.sender.memory_kb()
        self.wait_for_frames(others, FRAMES_DURING_THE_STOP)
        self.assertEqual(stopped.count(), last)
        if not harness.IS_SANITIZED:
            self.assertLess(self.sender.memory_kb() - memory_kb, 4096)
        self.check_went_on(others, since)
        newest = min(self.newest(record) for record in others)
        self.viewers[3].go_on()
        harness.wait_until(lambda: stopped.count() > last + QUOTA + 10, "frames after it was continued")
        # First come the frames that it held and those in flight. The next frame is a current one.
        caught_up = stopped.sequences(last)
        self.assertLess(caught_up[0], newest)
        self.assertGreaterEqual(caught_up[QUOTA + 2], newest)
        sent = self.end_well(self.viewers)
        self.assertEqual(len(sent["sessions"]), 4)
        self.assertEqual(self.lost(sent["sessions"]), 0)
        self.assertGreaterEqual(max(session["frames_skipped"] for session in sent["sessions"]), FRAMES_DURING_THE_STOP)

    def test_one_stopped_over_shared_memory(self):
        self.check_one_stopped("local")

    def test_one_stopped_over_tcp(self):
        self.check_one_stopped("tcp")

    def check_one_killed(self, transport: str):
        self.start_four(transport)
        descriptors = self.sender.settled_descriptors()
        fifth = self.view(self.sender.address)
        self.ends(fifth, harness.REFUSED)
        self.one_message(fifth, "4 viewers already", "--viewers")
        since = [record.count() for record in self.records[:3]]
        self.viewers[3].kill()
        self.sender.wait_line(SESSION_ENDED)
        self.wait_for_frames(self.records[:3], 30)
        self.check_went_on(self.records[:3], since)
        harness.wait_until(lambda: self.sender.descriptors() < descriptors, "its descriptors to be closed")
        # Its slots and its session are free again.
        record = pictures.StampedRecording(self.file("new.rgba"), FRAME_BYTES)
        new = self.view(self.sender.address, "--transport", transport, "--output", record.path)
        self.wait_for_frames([record, *self.records[:3]], 30)
        self.sender.wait_descriptors(descriptors)
        sent = self.end_well([*self.viewers[:3], new])
        self.assertEqual(len(sent["sessions"]), 5)
        self.assertLessEqual(self.lost(sent["sessions"]), QUOTA, "only what the killed one held")

    def test_one_killed_over_shared_memory(self):
        self.check_one_killed("local")

    def test_one_killed_over_tcp(self):
        self.check_one_killed("tcp")

    def test_killed_again_and_again(self):
        self.sender = self.send_on("pattern:stamped", "--size", "640x360", "--fps", "60", "--viewers", "2")
        first = self.view(self.sender.address, "--verify")
        self.sender.wait_line("^viewer .*transport=")
        descriptors = None  # of the sender, after one viewer of each link has gone
        for number in range(6):
            after = len(self.sender.lines)
            victim = self.view(self.sender.address, "--transport", ("local", "tcp")[number % 2], terminal=True)
            victim.wait_line(r"transport=")
            victim.kill()
            self.sender.wait_line(SESSION_ENDED, after=after)
            if number < 2:
                descriptors = self.sender.settled_descriptors()
                continue
            descriptors = self.sender.wait_descriptors(descriptors)
        sent = self.end_well([first])
        self.assertEqual(len(sent["sessions"]), 7)
        self.assertEqual(self.lost(sent["sessions"][-1:]), 0)

    def test_a_viewer_may_ask_for_less_and_not_for_more(self):
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "30")
        greedy = self.view(sender.address, "--delivery", "every")
        self.ends(greedy, harness.REFUSED)
        self.one_message(greedy, "'latest'", "'every'", "--delivery every")
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "200", "--delivery", "every")
        every = pictures.StampedRecording(self.file("every.rgba"), FRAME_BYTES)
        patient = self.view(sender.address, "--output", every.path)
        patient.wait_line("transport=")
        modest = self.view(sender.address, "--delivery", "latest", "--frames", "1")
        self.ends(modest)
        sender.interrupt()
        self.ends(sender)
        self.ends(patient)
        numbers = every.sequences()
        self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))

    def test_no_link_in_common(self):
        sender = self.send_on("pattern", "--size", "64x36", "--transport", "tcp")
        viewer = self.view(sender.address, "--transport", "local")
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, "no transport in common", "local", "tcp")

    def test_under_every_the_source_waits_for_a_viewer_that_is_stopped(self):
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "200", "--delivery", "every")
        records = [pictures.StampedRecording(self.file(f"{i}.rgba"), FRAME_BYTES) for i in range(2)]
        viewers = [self.view(sender.address, "--output", record.path) for record in records]
        harness.wait_until(lambda: all(record.count() >= 5 for record in records), "five frames")
        viewers[1].pause()
        harness.wait_until(lambda: self.is_still(records[0]), "the source to wait")
        viewers[1].go_on()
        self.wait_for_frames(records, 50)
        sender.interrupt()
        self.ends(sender)
        for viewer in viewers:
            self.ends(viewer)
        for record in records:
            numbers = record.sequences()
            self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))

    @staticmethod
    def is_still(record) -> bool:
        """No frame arrives for much longer than five milliseconds."""
        before = record.count()
        time.sleep(1)
        return record.count() == before


if __name__ == "__main__":
    harness.main()
