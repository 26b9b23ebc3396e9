"""With --spin a program that waits for frames polls and never sleeps. Without it, a long wait sleeps."""
import subprocess

import harness
from byte_programs import SMALL, BytePrograms

POLLS = 20  # equal readings in a row


class Spinning(BytePrograms):
    def is_in_state_for_a_while(self, program: harness.Program, wanted: str, thread: str = ""):
        seen = []

        def agree():
            seen.append(program.state(thread))
            return len(seen) >= POLLS and set(seen[-POLLS:]) == {wanted}
        harness.wait_until(agree, f"{program} to be in state {wanted} {POLLS} times in turn", poll_interval_s=0.01)

    def test_rdrecv(self):
        original = self.data(3_000_000)
        for transport in ("local", "tcp"):
            for option, state in (((), "S"), (("--spin",), "R")):
                with self.subTest(f"{transport} {option}"):
                    copy = self.file("copy")
                    receiver = self.receiver(copy, *option)
                    sender = self.sender(receiver.address, "--transport", transport, *SMALL, stdin=subprocess.PIPE)
                    sender.process.stdin.write(original.read_bytes()[:1_000_000])
                    sender.process.stdin.flush()
                    harness.wait_until(lambda copy=copy: copy.exists() and copy.stat().st_size > 0, "the first bytes")
                    self.is_in_state_for_a_while(receiver, state)
                    sender.process.stdin.write(original.read_bytes()[1_000_000:])
                    sender.process.stdin.close()
                    self.ends(sender)
                    self.ends(receiver)
                    self.assertTrue(copy.read_bytes() == original.read_bytes())
                    copy.unlink()

    def test_rdrecv_that_is_interrupted_or_loses_its_sender(self):
        for victim in ("receiver", "sender"):
            with self.subTest(victim):
                receiver = self.receiver(self.file("copy"), "--spin")
                sender = self.sender(receiver.address, stdin=subprocess.PIPE)
                receiver.wait_line("transport=")
                if victim == "receiver":
                    receiver.interrupt()
                    self.ends(receiver, harness.FAILED)
                    self.one_message(receiver, "interrupted after 0 B", beside="transport=|waiting")
                else:
                    sender.kill()
                    self.ends(receiver, harness.LOST)
                sender.process.stdin.close()
                sender.wait_end()

    def test_view(self):
        for transport in ("local", "tcp"):
            for option, state in (((), "S"), (("--spin",), "R")):
                with self.subTest(f"{transport} {option}"):
                    sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "2", "--delivery", "every")
                    viewer = self.view(sender.address, "--size", "64x36", "--transport", transport, "--verify", *option)
                    viewer.wait_line("transport=")
                    self.is_in_state_for_a_while(viewer, state, "fw-receive")
                    sender.interrupt()
                    self.ends(viewer)
                    self.ends(sender)
                    sent, shown = self.checked_stats(sender, viewer)
                    self.assertEqual((shown["frames_shown"], shown["frames_torn"]), (sent["frames_sent"], 0))


if __name__ == "__main__":
    harness.main()
