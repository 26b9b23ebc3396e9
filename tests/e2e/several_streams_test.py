"""One sender offers several streams. Each goes on whatever becomes of the others and of their viewers."""
import harness
import pictures

SIZE = (64, 36)
FRAME_BYTES = SIZE[0] * SIZE[1] * 4
STILL = ("--size", "64x36", "--fps", "100", "--delivery", "every")  # no stream skips a frame
SHORT_FRAMES = 20


class SeveralStreams(harness.EndToEnd):
    def film(self, name: str, frames: int, end: bytes = b"") -> str:
        """A y4m file, which needs no encoder."""
        one = b"FRAME\n" + bytes(SIZE[0] * SIZE[1] * 3 // 2)
        self.file(name).write_bytes(b"YUV4MPEG2 W64 H36 F100:1 C420jpeg\n" + frames * one + end)
        return name

    def record(self, sender, stream: str, transport: str = "auto"):
        """A viewer of the stream, and its recording."""
        record = pictures.StampedRecording(self.file(f"{stream}.rgba"), FRAME_BYTES)
        viewer = self.view(f"{sender.address}/{stream}", "--output", record.path, "--transport", transport)
        sender.wait_line(f"^viewer .* of {stream}: transport=")
        return viewer, record

    def wait_for_more(self, record, frames: int = 30):
        count = record.count()
        harness.wait_until(lambda: record.count() >= count + frames, f"{frames} more frames in {record.path.name}")

    def check_whole(self, record):
        numbers = record.sequences()
        self.assertEqual(numbers, list(range(len(numbers))))

    def streams_of(self, sender) -> dict:
        """The statistics of each stream, after checking that they add up."""
        stats = self.stats(sender)
        for field in ("frames_produced", "frames_sent", "frames_skipped", "frames_received", "frames_lost"):
            self.assertEqual(stats[field], sum(stream[field] for stream in stats["streams"]), field)
        for stream in stats["streams"]:
            mine = [session for session in stats["sessions"] if session["stream"] == stream["name"]]
            self.assertEqual(stream["frames_sent"], sum(session["frames_sent"] for session in mine))
        return {stream["name"]: stream for stream in stats["streams"]}

    def start_three(self):
        """Two streams without an end, and a film between them."""
        self.sender = self.send_on("pattern:stamped", self.film("short.y4m", SHORT_FRAMES), "pattern:stamped",
                                   "--name", "left", "--name", "short", "--name", "right", *STILL)
        self.left, self.left_record = self.record(self.sender, "left", "tcp")
        self.right, self.right_record = self.record(self.sender, "right")

    def test_one_ends_while_the_others_go_on(self):
        self.start_three()
        lost = self.view(f"{self.sender.address}/middle")
        self.ends(lost, harness.REFUSED)
        self.one_message(lost, "no stream 'middle'; it has left, short, right$")
        short = self.view(f"{self.sender.address}/short", "--output", "short.y4m.raw")
        self.ends(short)
        self.assertEqual(self.stats(short)["frames_received"], SHORT_FRAMES)
        self.sender.wait_line("^viewer .* of short .*: the stream ended$")
        for record in (self.left_record, self.right_record):
            self.wait_for_more(record)
        late = self.view(f"{self.sender.address}/short")
        self.ends(late, harness.REFUSED)
        self.one_message(late, "no stream 'short'; it has left, right$")
        self.sender.interrupt()
        for program in (self.sender, self.left, self.right):
            self.ends(program)
        for record in (self.left_record, self.right_record):
            self.check_whole(record)
        streams = self.streams_of(self.sender)
        self.assertEqual(list(streams), ["left", "short", "right"])
        self.assertEqual((streams["short"]["frames_produced"], streams["short"]["frames_received"]), (20, 20))
        self.assertEqual([stream["error"] for stream in streams.values()], [None] * 3)
        self.check_summary(self.sender, ["left", "short", "right"])

    def check_summary(self, sender, names):
        """Each stream's line stands before those of its viewers; here each has had one."""
        summary = [line.split(":")[0] for line in sender.lines if line.endswith((" s", "the stream ended"))]
        streams = [f"stream {name}" for name in names]
        self.assertEqual(summary[-2 * len(names)::2], streams, sender.text)
        self.assertTrue(all(line.startswith("viewer ") for line in summary[1 - 2 * len(names)::2]), sender.text)

    def test_a_stopped_and_a_killed_viewer_disturb_no_other_stream(self):
        self.start_three()
        self.right.pause()
        self.wait_for_more(self.left_record, 200)  # far more than a stopped viewer may hold
        self.right.go_on()
        self.wait_for_more(self.right_record)
        self.right.kill()
        self.sender.wait_line(r"^viewer .* of right \(local\): ")
        self.wait_for_more(self.left_record)
        again = self.view(f"{self.sender.address}/right", "--frames", "5")
        self.ends(again)
        self.wait_for_more(self.left_record)
        self.sender.interrupt()
        self.ends(self.sender)
        self.ends(self.left)
        self.check_whole(self.left_record)
        self.assertEqual(self.streams_of(self.sender)["left"]["frames_lost"], 0)

    def test_the_sender_ends_when_all_have_ended(self):
        sender = self.send_on(self.film("one.y4m", 10), self.film("two.y4m", SHORT_FRAMES), "pattern", *STILL,
                              "--frames", "15")
        for name, frames in (("one", 10), ("two", 15), ("pattern", 15)):
            viewer = self.view(f"{sender.address}/{name}")
            self.ends(viewer)
            self.assertEqual(self.stats(viewer)["frames_received"], frames)
        self.ends(sender)
        received = {name: stream["frames_received"] for name, stream in self.streams_of(sender).items()}
        self.assertEqual(received, {"one": 10, "two": 15, "pattern": 15})

    def test_a_viewer_without_a_name_gets_what_goes_on(self):
        sender = self.send_on(self.film("first.y4m", 5), "pattern", *STILL)
        self.ends(self.view(f"{sender.address}/first"))
        sender.wait_line(r"^viewer .* of first \(local\): the stream ended$")
        after = len(sender.lines)
        viewer = self.view(sender.address, "--frames", "10")
        self.ends(viewer)
        sender.wait_line("^viewer .* of pattern: transport=", after=after)
        self.assertNotIn("of first", "\n".join(sender.lines[after:]))

    def test_a_source_that_fails_ends_its_own_stream_only(self):
        with self.file(self.film("broken.y4m", 3, b"hello, world, this is no frame")).open("rb") as stdin:
            sender = self.send_on("pattern:stamped", "-", *STILL, "--name", "good", stdin=stdin)
        good, record = self.record(sender, "good")
        viewer = self.view(f"{sender.address}/stdin")
        self.ends(viewer)
        self.assertEqual(self.stats(viewer)["frames_received"], 3)
        why = sender.wait_line("^framewire-send: stream stdin: (.*)$").group(1)
        self.wait_for_more(record)
        sender.interrupt()
        self.ends(sender, harness.FAILED)
        self.ends(good)
        self.check_whole(record)
        self.assertEqual(sender.lines[-1], "framewire-send: 1 of 2 streams failed: stdin")
        sender.wait_line("^stream stdin: 3 frames in .*, failed$")
        streams = self.streams_of(sender)
        self.assertEqual(streams["stdin"]["error"], why)
        self.assertIsNone(streams["good"]["error"])

    def test_a_source_that_cannot_be_opened_ends_the_sender_before_it_listens(self):
        sender = self.send("pattern", "no-such-film.mkv", *STILL, "--listen", "127.0.0.1:0")
        self.ends(sender, harness.FAILED)
        self.one_message(sender, "no-such-film.mkv", "no such file")
        self.assertNotIn("listening", sender.text)

    def test_the_live_line_has_each_stream(self):
        sender = self.send_on(self.film("short.y4m", SHORT_FRAMES), "pattern", "pattern", *STILL, terminal=True)
        sender.wait_line("^waiting for a viewer$")
        self.view(f"{sender.address}/pattern")
        sender.wait_line(r"^short: no viewer   pattern: \d+\.\d fps, 1 viewer   pattern-2: no viewer$")
        self.ends(self.view(f"{sender.address}/short"))
        sender.wait_line(r"^short: ended   pattern: \d+\.\d fps, 1 viewer   pattern-2: no viewer$")
        sender.interrupt()
        self.ends(sender)

    def test_scenes_share_the_machine_and_have_contexts_of_their_own(self):
        # Few machines render so fast. On the others the smallest size is taken at once.
        sender = self.send_on("gl:waves", "gl:orbit", "--size", "auto", "--fps", "1000")
        for scene in ("waves", "orbit"):
            said = sender.wait_line(rf"^--size auto: (\d+x\d+) .* renders gl:{scene} at its rate beside 1 more$")
            sender.wait_line(f"^stream {scene}: gl:{scene}, {said.group(1)} rgba 1000 fps, ")
        viewers = [self.view(f"{sender.address}/{scene}", "--frames", "5") for scene in ("waves", "orbit")]
        for viewer in viewers:
            self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.assertTrue(all(stream["frames_sent"] >= 5 for stream in self.streams_of(sender).values()))


if __name__ == "__main__":
    harness.main()
