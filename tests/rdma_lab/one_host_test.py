"""The real programs over RDMA on one machine: whole frames, many viewers, and what auto chooses."""
import os
import pathlib
import re
import signal
import subprocess
import unittest

import lab
from lab import harness
from one_host import STREAM, OneHostTest

FRAME_BYTES = 64 * 36 * 4


class OneHost(OneHostTest):
    @unittest.skipUnless(lab.IS_LAB, "it is about scripts/rdma-lab")
    def test_the_lab_begins_a_command_as_a_terminal_would(self):
        ignored = int(re.search(r"SigIgn:\s+(\w+)", pathlib.Path("/proc/self/status").read_text()).group(1), 16)
        for one in (signal.SIGINT, signal.SIGQUIT):  # a signal that was ignored at the start stays ignored
            self.assertFalse(ignored >> (one - 1) & 1, one.name)

    def check_bit_for_bit(self, size: str, frame_bytes: int, frames: int, viewers: int = 1):
        original = self.file("original.rgba")
        original.write_bytes(os.urandom(frame_bytes * frames))
        with original.open("rb") as source:
            sender = self.rdma_sender("-", "--size", size, "--pix-fmt", "rgba", "--fps", "200", "--delivery", "every",
                                      "--no-pace", "--viewers", str(viewers), stdin=source)
        records = [self.file(f"{number}.rgba") for number in range(viewers)]
        shows = [self.rdma_viewer(sender, "--output", record) for record in records]
        for viewer in shows:
            self.ends(viewer)
            self.assertEqual(self.stats(viewer)["transport"], "rdma")
        self.ends(sender)
        sent = self.stats(sender)
        self.assertEqual((sent["frames_lost"], sent["frames_skipped"]), (0, 0))
        return original.read_bytes(), [record.read_bytes() for record in records]

    def test_a_stream_bit_for_bit(self):
        for size, frame_bytes, frames in (("64x36", FRAME_BYTES, 20), ("5x3", 60, 20), ("1280x720", 1280 * 720 * 4, 6)):
            with self.subTest(size):
                original, (record,) = self.check_bit_for_bit(size, frame_bytes, frames)
                self.assertTrue(record == original,
                                f"{len(record)} bytes arrived, not the {len(original)} that were sent")

    def test_relaxed_ordering_changes_nothing_that_can_be_seen(self):
        sender = self.rdma_sender(*STREAM)
        viewer = self.rdma_viewer(sender, "--no-relaxed-ordering", "--verify", "--frames", "20")
        self.ends(viewer)
        stats = self.stats(viewer)
        self.assertEqual((stats["frames_received"] >= 20, stats["frames_torn"], stats["transport"]), (True, 0, "rdma"))

    def test_the_port_that_another_program_has_for_rdma(self):
        """The acceptor then listens on another port, and tells viewers."""
        port = harness.free_port()
        other = subprocess.Popen(["ib_write_bw", "-R", "-p", str(port)], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)

        def connection_ids() -> str:
            return subprocess.run(["rdma", "resource", "show", "cm_id"], capture_output=True, text=True,
                                  check=True).stdout

        harness.wait_until(lambda: re.search(rf":{port}\b", connection_ids()), "ib_write_bw to listen")
        sender = self.rdma_sender(*STREAM, listen=f"127.0.0.1:{port}")
        viewer = self.rdma_viewer(sender, "--frames", "5")
        self.ends(viewer)
        self.assertEqual(self.stats(viewer)["transport"], "rdma")
        self.assertIsNone(other.poll(), "whose port it was is undisturbed")

    def test_three_viewers_get_the_same(self):
        original, records = self.check_bit_for_bit("320x180", 320 * 180 * 4, 40, viewers=3)
        for record in records:
            # With `every`, a viewer gets every frame after it has joined.
            self.assertGreater(len(record), 0)
            self.assertTrue(original.endswith(record))

    def test_the_viewer_listens_and_the_sender_dials(self):
        viewer = self.view("--listen", "127.0.0.1:0", "--transport", "rdma")
        port = viewer.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        # Under "latest" a sender waits for a slow viewer's goodbye for 5 s only.
        sender = self.send("pattern:stamped", *("--size", "64x36", "--fps", "30", "--frames", "20"),
                           "--delivery", "every", "--to", f"127.0.0.1:{port}", "--transport", "rdma")
        self.ends(sender)
        self.ends(viewer)
        sent, shown = self.checked_stats(sender, viewer)
        self.assertEqual((sent["transport"], shown["transport"], shown["frames_torn"]), ("rdma", "rdma", 0))

    def check_auto(self, sender, wanted: str, **options):
        viewer = self.view(sender.address, "--insecure", "--frames", "3", prefix=self.other_user(), **options)
        self.ends(viewer)
        viewer.wait_line(wanted)

    def test_auto_prefers_rdma(self):
        self.check_auto(self.open_sender(),
                        r"transport=rdma memory=host auth=none .*\(auto: rdma; local needs the same user")

    def test_auto_says_why_it_is_not_rdma(self):
        self.check_auto(self.open_sender("--transport", "tcp"),
                        r"transport=tcp .*\(auto: tcp; local needs .*; "
                        r"rdma: the sender has none, not allowed by its --transport")
        if not lab.IS_LAB:
            return  # other programs may be using it
        rdma_cm = pathlib.Path("/dev/infiniband/rdma_cm")
        mode = rdma_cm.stat().st_mode
        rdma_cm.chmod(0o600)
        self.addCleanup(rdma_cm.chmod, mode & 0o777)
        self.check_auto(self.open_sender(), r"transport=tcp .*\(auto: tcp; .*rdma: no RDMA device here")

    def test_an_rdma_address_that_no_device_has_ends_a_listener(self):
        """Also with --transport auto, which else does without RDMA."""
        sender = self.send(*STREAM, "--insecure", "--listen", "*:0", "--rdma-address", "127.0.0.1")
        self.ends(sender, harness.USAGE)
        self.one_message(sender, "--rdma-address is .?127\\.0\\.0\\.1", "other machines can reach")

    # ---- limits

    def test_auto_does_without_rdma_where_too_little_may_be_locked(self):
        frames = ("pattern:stamped", "--size", "640x360", "--fps", "10", "--insecure")
        why = r"transport=tcp .*\(auto: tcp; .*rdma: .*cannot register .* may lock only"
        # The sender cannot lock its pool, or with 64 KiB not even the memory of a connection; or the viewer cannot lock
        # its ring. All at once, because most of the time goes into starting programs, each on one processor.
        limits = [(self.limited(1 << 20), ()), (self.limited(1 << 16), ()), ((), self.limited(1 << 20))]
        senders = [self.send(*frames, "--listen", "*:0", prefix=of_sender) for of_sender, _ in limits]
        ports = [sender.wait_line(r"^listening on .*:(\d+)").group(1) for sender in senders]
        viewers = [self.view(f"{lab.ADDRESS}:{port}", "--insecure", "--frames", "3", prefix=of_viewer)
                   for port, (_, of_viewer) in zip(ports, limits)]
        for viewer in viewers:
            self.ends_without_rdma(viewer, why)
        for sender in senders:
            sender.interrupt()
        # The viewer that listens.
        viewer = self.view("--listen", "*:0", "--insecure", prefix=self.limited(1 << 20))
        port = viewer.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        sender = self.send(*frames, "--to", f"{lab.ADDRESS}:{port}")
        viewer.wait_line(why)
        sender.interrupt()
        self.ends(viewer)  # of its first or second session: the sender may dial before it knows its format
        self.ends(sender)

    def ends_without_rdma(self, viewer, why: str):
        """The viewer notices the problem before its only session is established."""
        self.ends(viewer)
        viewer.wait_line(why)
        self.assertEqual(self.stats(viewer)["sessions"], 1)
        self.assertFalse([line for line in viewer.lines if "transport=rdma" in line or "lost the sender" in line])


if __name__ == "__main__":
    harness.main()
