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


if __name__ == "__main__":
    harness.main()
