"""rdsend and rdrecv over RDMA, from one machine to itself: every byte, or a status that says otherwise."""
import json
import os
import pathlib
import subprocess

import lab
from lab import harness

SLOT_BYTES, SLOTS = 64 << 10, 4


class Bytes(lab.RdmaTest):
    def receiver(self, *arguments) -> harness.Program:
        program = self.start(harness.BIN / "rdrecv", "-v", "--listen", "127.0.0.1:0", "--transport", "rdma", *arguments)
        program.address = f"127.0.0.1:{program.wait_line(r'^waiting for a sender on .*?:([0-9]+)').group(1)}"
        return program

    def sender(self, receiver, *arguments, **options) -> harness.Program:
        return self.start(harness.BIN / "rdsend", receiver.address, "--transport", "rdma", *arguments, **options)

    def data(self, size: int) -> pathlib.Path:
        path = self.file("data")
        path.write_bytes(os.urandom(size))
        return path

    def test_sizes_around_what_a_cell_a_slot_and_the_ring_hold(self):
        ring = SLOT_BYTES * SLOTS
        for size in (0, 1, 192, 193, SLOT_BYTES, SLOT_BYTES + 1, ring, ring + 1, 20_000_003):
            with self.subTest(f"{size} bytes"):
                original, copy = self.data(size), self.file("copy")
                receiver = self.receiver(copy)
                sender = self.sender(receiver, original, "--slot-bytes", SLOT_BYTES, "--slots", SLOTS, "--stats", self.file("sent.json"))
                self.ends(sender)
                self.ends(receiver)
                self.assertTrue(copy.read_bytes() == original.read_bytes())
                sent = json.loads(self.file("sent.json").read_text())
                self.assertEqual((sent["transport"], sent["bytes"], sent["bytes_written"]), ("rdma", size, size))

    def test_a_full_disk(self):
        receiver = self.receiver("/dev/full")
        sender = self.sender(receiver, self.data(1_000_000))
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)
        self.one_sentence(sender, "the receiver failed", "No space left on device")

    def test_ends_that_are_killed(self):
        for killed in ("sender", "receiver"):
            with self.subTest(killed):
                copy = self.file(f"copy-{killed}")
                receiver = self.receiver(copy)
                sender = self.sender(receiver, stdin=subprocess.PIPE)
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
