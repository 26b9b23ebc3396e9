"""Sender and viewer may start in any order and restart: the viewer waits, reports a loss and shows the next sender."""
import harness
import pictures

FRAME_BYTES = 64 * 36 * 4


class OrderOfStart(harness.EndToEnd):
    def sender_at(self, port: int, *more) -> harness.Program:
        return self.send("pattern:stamped", "--size", "64x36", "--fps", "30", "--listen", f"127.0.0.1:{port}", *more)

    def recording_viewer(self, port: int, *more) -> tuple[harness.Program, pictures.StampedRecording]:
        record = pictures.StampedRecording(self.file("frames.rgba"), FRAME_BYTES)
        return self.view(f"127.0.0.1:{port}", "--output", record.path, *more), record

    def test_viewer_first(self):
        port = harness.free_port()
        viewer, _ = self.recording_viewer(port)
        # On a busy machine the viewer may have dialled before its first message.
        viewer.wait_line(r"(waiting for|nothing listens at) 127\.0\.0\.1:")
        sender = self.sender_at(port, "--frames", "20")
        self.ends(viewer)
        self.ends(sender)
        _, shown = self.checked_stats(sender, viewer)
        self.assertEqual(shown["sessions"], 1)

    def test_a_viewer_whose_time_is_over_before_a_sender_came(self):
        shot, record = self.file("waiting.png"), self.file("earlier.rgba")
        record.write_bytes(b"an earlier recording")
        viewer = self.view(f"127.0.0.1:{self.refusing_port()}", "--duration", "1s", "--screenshot", shot,
                           "--output", record)
        self.ends(viewer, harness.LOST)
        self.one_message(viewer, "no sender came before --duration was over$", beside="warning: no frame was shown")
        self.assertLessEqual(len([line for line in viewer.lines if "nothing listens at" in line]), 1, viewer.text)
        self.assertFalse(shot.exists(), "a picture of waiting is none of the sender's")
        self.assertEqual(record.read_bytes(), b"an earlier recording", "no frame has replaced it")
        self.assertEqual(self.stats(viewer)["frames_received"], 0)

    def test_a_viewer_whose_time_is_over_after_it_lost_its_sender(self):
        sender = self.send_on("pattern", "--size", "64x36", "--fps", "30")
        viewer = self.view(sender.address, "--duration", f"{10 * harness.TIMEOUT_SCALE}s",
                           "--screenshot", self.file("last.png"), terminal=True)
        viewer.wait_line("shown [1-9]")
        sender.kill()
        self.ends(viewer, harness.LOST)
        self.one_message(viewer, "the sender was lost, and did not come back before --duration was over$")
        self.assertGreater(pictures.read_png(self.file("last.png")).colours(), 20, "what was shown last")

    def check_restart(self, transport: str):
        port = harness.free_port()
        sender = self.sender_at(port)
        viewer, record = self.recording_viewer(port, "--transport", transport, "--size", "640x360",
                                               "--screenshot", self.file("lost.png"))
        harness.wait_until(lambda: record.count() >= 10, "ten frames")
        sender.kill()
        viewer.wait_line("^lost the sender: ", 10 * harness.TIMEOUT_SCALE)
        before = record.count()  # the last frames of the first sender may yet come
        again = self.sender_at(port, "--delivery", "every")
        harness.wait_until(lambda: record.count() >= before + 40, "frames of the sender that came back",
                           15 * harness.TIMEOUT_SCALE)
        again.interrupt()
        self.ends(again)
        self.ends(viewer)
        shown = self.stats(viewer)
        self.assertEqual(shown["sessions"], 2)
        self.assertEqual(shown["frames_torn"], 0)
        numbers = record.sequences()
        self.assertEqual(len(numbers), shown["frames_recorded"])
        self.assertEqual(shown["frames_recorded"] + shown["frames_unrecorded"], shown["frames_received"])
        begun = numbers.index(0, 1)
        self.assertEqual(numbers[:begun], sorted(set(numbers[:begun])))
        self.assertEqual(numbers[begun:], list(range(len(numbers) - begun)), "the new sender began again")

    def test_sender_killed_and_restarted_over_shared_memory(self):
        self.check_restart("local")

    def test_sender_killed_and_restarted_over_tcp(self):
        self.check_restart("tcp")

    def test_a_viewer_that_lost_its_sender_says_so_in_the_picture(self):
        sender = self.send_on("pattern", "--size", "640x360", "--fps", "30")
        viewer = self.view(sender.address, "--size", "640x360", "--screenshot", self.file("lost.png"), "--verbose",
                           terminal=True)
        viewer.wait_line(r"shown [1-9]")
        sender.kill()
        viewer.wait_line("^.*lost the sender: ")
        viewer.wait_line("nothing listens at ")  # the picture has been told of the loss before
        viewer.interrupt()
        self.ends(viewer)
        picture = pictures.read_png(self.file("lost.png"))
        banner = [picture.at(x / 640, 0.5) for x in range(200, 440)]
        self.assertGreater(sum(max(pixel) < 60 for pixel in banner), 100, "a dark banner in the middle")
        self.assertGreater(max(picture.at(0.99, 0.99)) + max(picture.at(0.6, 0.95)), 0, "the last picture behind it")

    def test_an_end_that_was_meant_ends_the_viewer(self):
        sender = self.send_on("pattern", "--size", "64x36", "--fps", "30")
        viewer = self.view(sender.address, terminal=True)
        viewer.wait_line(r"shown [1-9]")
        sender.interrupt()
        self.ends(sender)
        self.ends(viewer)
        self.checked_stats(sender, viewer)

    def test_retry_without_a_sender(self):
        viewer = self.view(f"127.0.0.1:{self.refusing_port()}", "--retry", "1s")
        self.ends(viewer, harness.LOST)
        self.assertEqual(len([line for line in viewer.lines if "nothing listens at 127.0.0.1:" in line]), 1,
                         viewer.text)
        self.one_message(viewer, "no sender came before --retry was over|nothing listens")

    def test_retry_after_the_sender_was_lost(self):
        sender = self.send_on("pattern", "--size", "64x36", "--fps", "30")
        viewer = self.view(sender.address, "--retry", "1s", terminal=True)
        viewer.wait_line(r"shown [1-9]")
        sender.kill()
        self.ends(viewer, harness.LOST)
        self.one_message(viewer, "nothing listens")

    def test_nothing_is_produced_before_the_first_viewer(self):
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--frames", "5", "--delivery", "every")
        with self.assertRaises(AssertionError):
            sender.wait_end(2)
        viewer = self.view(sender.address, "--output", self.file("frames.rgba"))
        self.ends(viewer)
        self.ends(sender)
        self.assertEqual(pictures.StampedRecording(self.file("frames.rgba"), FRAME_BYTES).sequences(), [0, 1, 2, 3, 4])

    def test_a_viewer_comes_after_another_left(self):
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "30")
        for _ in range(3):
            viewer = self.view(sender.address, "--frames", "5")
            self.ends(viewer)
            self.assertEqual(self.stats(viewer)["frames_received"], 5)
        sender.interrupt()
        self.ends(sender)
        self.assertEqual([session["frames_received"] for session in self.stats(sender)["sessions"]], [5, 5, 5])


if __name__ == "__main__":
    harness.main()
