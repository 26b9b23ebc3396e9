"""rdsend and rdrecv over RDMA, from one machine to itself: every byte, or a status that says otherwise."""
import itertools
import os
import random
import subprocess
import unittest

import lab
from lab import harness

from byte_programs import RING_BYTES, SEED, SLOT_BYTES, SMALL, BytePrograms


class Bytes(BytePrograms, lab.RdmaTest):
    common = ("--transport", "rdma")

    def test_sizes_around_what_a_cell_a_slot_and_the_ring_hold(self):
        around_slot_and_ring = (whole + by for whole in (SLOT_BYTES, RING_BYTES) for by in (-1, 0, 1))
        for size in (0, 1, 192, 193, *around_slot_and_ring, 20_000_003):
            with self.subTest(f"{size} bytes"):
                self.check_copy(self.data(size), "rdma", *SMALL)

    def test_more_than_two_gibibytes(self):
        """A sparse file with data at both ends and around the limit of signed 32-bit offsets, which it passes by more
        than the ring holds. cmp compares the stream with the original, so the disk holds it once."""
        original = self.file("original")
        with original.open("wb") as file:
            for at in (0, 1 << 31, (1 << 31) + (100 << 20)):
                file.seek(at - 70_001 if at else 0)
                file.write(os.urandom(140_003))
        receiver = self.receiver(stdout=subprocess.PIPE)
        with subprocess.Popen(["cmp", "-", original], stdin=receiver.process.stdout) as compared:
            receiver.process.stdout.close()
            self.ends(self.sender(receiver.address, original), seconds=4 * harness.WATCHDOG_S)
            self.ends(receiver)
            self.assertEqual(compared.wait(harness.WATCHDOG_S), 0)
        sent, received = self.said("sent.json"), self.said("received.json")
        self.assertEqual((received["bytes"], received["transport"], received["digest"]),
                         (original.stat().st_size, "rdma", sent["digest"]))

    @unittest.skipUnless(lab.IS_LAB, "it mounts a broken disk")
    def test_a_disk_that_fails_only_when_all_has_to_stand_on_it(self):
        """The file system reports free space that its lower file system does not have: the page cache accepts every
        byte, the disk does not."""
        for module in ("loop", "ext4"):
            subprocess.run(["modprobe", module], check=True)
        small, image, disk = self.file("small"), self.file("small") / "image", self.file("disk")
        for folder in (small, disk):
            folder.mkdir()
        self.mount("-t", "tmpfs", "-o", "size=8M", "none", small)
        with image.open("wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", image], check=True)
        self.mount("-o", "loop", image, disk)
        with self.assertRaisesRegex(OSError, "No space left"), (small / "rest").open("wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))
        with (disk / "proof").open("wb", buffering=0) as file:
            self.assertEqual(file.write(os.urandom(1_000_000)), 1_000_000)
            with self.assertRaisesRegex(OSError, "Input/output error"):
                os.fsync(file.fileno())

        original = self.data(3_000_003)
        receiver = self.receiver("--fsync", disk / "copy")
        sender = self.sender(receiver.address, original)
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)
        self.one_message(receiver, "cannot make durable .*copy.*: Input/output error")
        self.one_message(sender, "the receiver failed after 3.0 MB: .*cannot make durable .*Input/output error")
        self.assertEqual([self.said(name)["durable"] for name in ("sent.json", "received.json")], [False, False])

    def mount(self, *arguments):
        subprocess.run(["mount", *arguments], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", arguments[-1]], check=True)

    def test_a_full_disk(self):
        receiver = self.receiver("/dev/full")
        sender = self.sender(receiver.address, self.data(1_000_000))
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)
        self.one_message(sender, "the receiver failed", "No space left on device")

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
                self.one_message(other, f"lost the {killed} after 4 B")
                sender.process.stdin.close()

    def test_killed_at_any_byte(self):
        chance = random.Random(SEED)
        original = self.data(2_000_003)
        lost = 0
        cases = 2 * list(itertools.product((False, True), ("sender", "receiver")))
        for turn, (is_sender_waiting, victim) in enumerate(cases):
            moment = chance.choice((0, 1, *(chance.randrange(1_000_000) for _ in range(3))))  # the rest takes a while
            with self.subTest(f"{turn}: {victim}, the sender waits: {is_sender_waiting}, at {moment} "
                              f"with FRAMEWIRE_SEED={SEED}"):
                lost += self.check_killed(victim, moment, original, (), is_sender_waiting)
        self.assertGreater(lost, 4)

    def test_auto_does_without_rdma_where_too_little_may_be_locked(self):
        self.common = ("--insecure",)
        low = self.limited(1 << 20)
        why = "rdma: .*cannot register .* may lock only 1"
        original = self.data(3_000_003)
        for limited in ("sender", "receiver"):
            for stats in ("sent.json", "received.json"):
                self.file(stats).unlink(missing_ok=True)  # owned by the other user
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
                receiver = self.start(*of_receiver, harness.BIN / "rdrecv", "-v", "--from", f"{lab.ADDRESS}:{port}",
                                      "--insecure", copy)
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
