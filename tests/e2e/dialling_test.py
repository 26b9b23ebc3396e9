"""The sender or the viewer may dial, and either may start first."""
import harness
import pictures


class EitherEndDials(harness.EndToEnd):
    def sender_to(self, port: int, *options) -> harness.Program:
        return self.send("pattern:stamped", "--size", "64x36", "--fps", "30", "--to", f"127.0.0.1:{port}", *options)

    def viewer_at(self, port: int, *options, **more) -> harness.Program:
        return self.view("--listen", f"127.0.0.1:{port}", *options, **more)

    def check(self, sender, viewer, transport: str):
        self.ends(sender)
        self.ends(viewer)
        sent, shown = self.checked_stats(sender, viewer)
        self.assertEqual((sent["transport"], shown["transport"], sent["frames_produced"]), (transport, transport, 20))
        self.assertEqual((sent["frames_lost"], shown["frames_torn"]), (0, 0))

    def test_over_shared_memory(self):
        port = harness.free_port()
        viewer = self.viewer_at(port)
        viewer.wait_line("^waiting for a sender on 127.0.0.1:")
        self.check(self.sender_to(port, "--frames", "20"), viewer, "local")

    def test_over_tcp(self):
        port = harness.free_port()
        viewer = self.viewer_at(port, "--transport", "tcp")
        viewer.wait_line("^waiting for a sender on 127.0.0.1:")
        self.check(self.sender_to(port, "--frames", "20"), viewer, "tcp")

    def test_the_sender_may_be_first(self):
        port = harness.free_port()
        sender = self.sender_to(port, "--frames", "20")
        sender.wait_line("^nothing listens at ")
        self.check(sender, self.viewer_at(port), "local")

    def test_with_a_key(self):
        key = self.file("key")
        self.ends(self.start(harness.BIN / "framewire", "key", "--file", key))
        port = harness.free_port()
        viewer = self.viewer_at(port, "--key", key)
        self.check(self.sender_to(port, "--frames", "20", "--key", key), viewer, "local")
        viewer.wait_line("auth=psk control=tls1.3")

    def test_without_the_viewers_key(self):
        self.ends(self.start(harness.BIN / "framewire", "key", "--file", self.file("key")))
        port = harness.free_port()
        viewer = self.viewer_at(port, "--key", self.file("key"))
        viewer.wait_line("^waiting for a sender on")
        sender = self.sender_to(port)
        self.ends(sender, harness.REFUSED)
        self.one_message(sender, "key")
        self.assertTrue(viewer.is_running(), "it waits for the next")

    def test_a_second_sender_is_refused_while_one_is_shown(self):
        port = harness.free_port()
        record = pictures.StampedRecording(self.file("frames.rgba"), 64 * 36 * 4)
        viewer = self.viewer_at(port, "--output", record.path)
        first = self.sender_to(port)
        harness.wait_until(lambda: record.count() > 5, "frames")
        second = self.sender_to(port)
        self.ends(second, harness.REFUSED)
        self.one_message(second, "has a sender already")
        before = record.count()
        harness.wait_until(lambda: record.count() > before + 5, "more frames")
        viewer.interrupt()
        self.ends(viewer)
        first.interrupt()
        self.ends(first)
        self.checked_stats(first, viewer)

    def test_a_listening_viewer_takes_the_next_sender_when_one_was_killed(self):
        port = harness.free_port()
        viewer = self.viewer_at(port, terminal=True)
        first = self.sender_to(port)
        viewer.wait_line("shown [1-9]")
        first.kill()
        viewer.wait_line("lost the sender: ")
        second = self.sender_to(port, "--frames", "20")
        self.ends(second)
        self.ends(viewer)
        self.assertEqual(self.stats(viewer)["sessions"], 2)

    def test_a_sender_dials_again_when_its_viewer_was_killed(self):
        port = harness.free_port()
        first = self.viewer_at(port, terminal=True)
        sender = self.sender_to(port)
        first.wait_line("shown [1-9]")
        first.kill()
        sender.wait_line("^nothing listens at ")
        second = self.viewer_at(port, "--frames", "10")
        self.ends(second)
        sender.interrupt()
        self.ends(sender)
        self.assertGreaterEqual(len(self.stats(sender)["sessions"]), 2)


if __name__ == "__main__":
    harness.main()
