"""rdsend and rdrecv over RDMA, from one machine to itself: every byte, or a status that says otherwise."""
import subprocess

import lab
from lab import harness

from byte_programs import RING_BYTES, SLOT_BYTES, SMALL, BytePrograms


class Bytes(BytePrograms, lab.RdmaTest):
    common = ("--transport", "rdma")

    def test_sizes_around_what_a_cell_a_slot_and_the_ring_hold(self):
        for size in (0, 1, 192, 193, SLOT_BYTES, SLOT_BYTES + 1, RING_BYTES, RING_BYTES + 1, 20_000_003):
            with self.subTest(f"{size} bytes"):
                self.check_copy(self.data(size), "rdma", *SMALL)

    def test_a_full_disk(self):
        receiver = self.receiver("/dev/full")
        sender = self.sender(receiver.address, self.data(1_000_000))
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)
        self.one_sentence(sender, "the receiver failed", "No space left on device")

    def test_ends_that_are_killed(self):
        for killed in ("sender", "receiver"):
            with self.subTest(killed):
                copy = self.file(f"copy-{killed}")
                receiver = self.receiver(copy)
                sender = self.sender(receiver.address, stdin=subprocess.PIPE)
                sender.process.stdin.write(b"some")
                sender.process.stdin.flush()
                harness.wait_until(lambda: copy.exists() and copy.read_bytes() == b"some", "the first bytes")
                victim, other = (sender, receiver) if killed == "sender" else (receiver, sender)
                victim.kill()
                self.ends(other, harness.LOST)
                self.one_sentence(other, f"lost the {killed} after 4 B")
                sender.process.stdin.close()

    def test_auto_does_without_rdma_where_too_little_may_be_locked(self):
        self.common = ("--insecure",)
        low = self.limited(1 << 20)
        why = "rdma: .*cannot register .* may lock only 1"
        original = self.data(3_000_003)
        for limited in ("sender", "receiver"):
            for stats in ("sent.json", "received.json"):
                self.file(stats).unlink(missing_ok=True)  # of the other user
            of_sender, of_receiver = (low, ()) if limited == "sender" else ((), low)
            with self.subTest(f"the {limited} may lock too little, and the receiver listens"):
                copy = self.file(f"copy-{limited}")
                receiver = self.receiver(copy, listen="*:0", prefix=of_receiver)
                port = receiver.address.split(":")[1]
                sender = self.sender(f"{lab.ADDRESS}:{port}", original, prefix=of_sender)
                self.check_whole(sender, receiver, original, copy, why)
            with self.subTest(f"the {limited} may lock too little, and the sender listens"):
                copy = self.file(f"copy-{limited}-2")
                sender = self.sender("--listen", "*:0", "-v", original, prefix=of_sender)
                port = sender.wait_line(r"^listening on .*:(\d+)").group(1)
                receiver = self.start(*of_receiver, harness.BIN / "rdrecv", "-v", "--from", f"{lab.ADDRESS}:{port}", "--insecure", copy)
                self.check_whole(sender, receiver, original, copy, why)

    def check_whole(self, sender, receiver, original, copy, why: str):
        self.ends(sender)
        self.ends(receiver)
        self.assertTrue(copy.read_bytes() == original.read_bytes())
        receiver.wait_line(fr"transport=tcp .*\(auto: tcp; .*{why}")
        sender.wait_line(f"warning: receiver .*{why}")
        self.assertFalse([line for line in receiver.lines if "transport=rdma" in line], "it never had rdma")
        sender.wait_line("transport=tcp")


if __name__ == "__main__":
    harness.main()
