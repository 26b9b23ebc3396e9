"""The real programs over RDMA on one machine: whole frames, many viewers, all ways to end, limits."""
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

import lab
from lab import harness

import pictures

FRAME_BYTES = 64 * 36 * 4
# Small and slow: an emulated viewer needs half a minute to start if it has much to draw.
STREAM = ("pattern:stamped", "--size", "160x90", "--fps", "10")
STREAM_FRAME_BYTES = 160 * 90 * 4


class OneHost(lab.RdmaTest):
    @unittest.skipUnless(lab.IS_LAB, "it is about scripts/rdma-lab")
    def test_the_lab_begins_a_command_as_a_terminal_would(self):
        ignored = int(re.search(r"SigIgn:\s+(\w+)", pathlib.Path("/proc/self/status").read_text()).group(1), 16)
        for one in (signal.SIGINT, signal.SIGQUIT):  # a signal that was ignored at the start stays ignored
            self.assertFalse(ignored >> (one - 1) & 1, one.name)

    def rdma_sender(self, *arguments, **options) -> harness.Program:
        return self.send_on(*arguments, "--transport", "rdma", **options)

    def rdma_viewer(self, sender, *arguments, **options) -> harness.Program:
        return self.view(sender.address, "--transport", "rdma", *arguments, **options)

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
        for size, frame_bytes in (("64x36", FRAME_BYTES), ("5x3", 60), ("1280x720", 1280 * 720 * 4)):
            with self.subTest(size):
                original, (record,) = self.check_bit_for_bit(size, frame_bytes, 20)
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

    def test_a_killed_viewer_harms_nobody(self):
        sender = self.rdma_sender(*STREAM)
        record = pictures.StampedRecording(self.file("stays.rgba"), STREAM_FRAME_BYTES)
        stays = self.rdma_viewer(sender, "--output", record.path)
        for _ in range(2):
            said = len(sender.lines)
            victim = self.rdma_viewer(sender, terminal=True)
            victim.wait_line("shown [1-9]")
            victim.kill()
            sender.wait_line(r"^viewer .* \(rdma\): ", after=said)
        # Ten more frames, and enough to pass the 5 s after which a device without completions counts as dead.
        wanted = max(record.count() + 10, 65)
        harness.wait_until(lambda: record.count() >= wanted, f"{wanted} frames")
        sender.interrupt()
        self.ends(sender)
        self.ends(stays)
        self.assertEqual(self.stats(stays)["frames_torn"], 0)
        self.assertEqual(len(self.stats(sender)["sessions"]), 3)
        numbers = record.sequences()
        self.assertEqual(numbers, sorted(set(numbers)))

    def replaced(self, sender, viewer, start) -> harness.Program:
        """Kills the sender, waits until the viewer reports it, and calls `start` for a new sender. The viewer
        reconnects over rdma at once."""
        sender.kill()
        viewer.wait_line("^lost the sender: ")
        before = len(viewer.lines)
        again = start()
        self.assertIn("transport=rdma", viewer.wait_line("transport=", after=before).string)
        viewer.wait_line("shown [1-9]", after=len(viewer.lines))
        return again

    def test_a_killed_sender_is_named_and_the_viewer_comes_back(self):
        sender = self.rdma_sender(*STREAM)
        viewer = self.rdma_viewer(sender, terminal=True)
        viewer.wait_line("shown [1-9]")
        again = self.replaced(sender, viewer, lambda: self.rdma_sender(*STREAM, listen=f"127.0.0.1:{sender.port}"))
        viewer.interrupt()
        self.ends(viewer)
        again.interrupt()
        self.ends(again)
        shown = self.stats(viewer)
        self.assertEqual((shown["sessions"], shown["frames_torn"]), (2, 0))

    def test_ends_that_live_on_release_what_a_session_held(self):
        sender = self.rdma_sender(*STREAM)
        idle = lab.held_objects()
        for _ in range(3):
            viewer = self.rdma_viewer(sender, "--frames", "2")
            self.ends(viewer)
            harness.wait_until(lambda: lab.held_objects() == idle,
                               f"{lab.held_objects()} to go back to {idle}, the sender's without a viewer")
        viewer = self.rdma_viewer(sender, terminal=True)
        viewer.wait_line("shown [1-9]")
        both = lab.held_objects()
        again = self.replaced(sender, viewer, lambda: self.rdma_sender(*STREAM, listen=f"127.0.0.1:{sender.port}"))
        self.assertEqual(lab.held_objects(), both)
        viewer.interrupt()
        self.ends(viewer)
        again.interrupt()
        self.ends(again)

    def test_a_viewer_comes_back_with_the_memory_for_one_ring(self):
        """The memory of a lost session is unregistered before the next session registers its own."""
        stream = ("pattern:stamped", "--size", "1280x720", "--fps", "5", "--insecure")
        ring_bytes = 3 * 1280 * 720 * 4
        sender = self.send_on(*stream, listen="*:0")
        address = f"{lab.ADDRESS}:{sender.port}"
        viewer = self.view(address, "--insecure", terminal=True, prefix=self.limited(ring_bytes * 3 // 2 + (3 << 20)))
        viewer.wait_line("transport=rdma")
        viewer.wait_line("shown [1-9]")
        again = self.replaced(sender, viewer, lambda: self.send_on(*stream, listen=f"*:{sender.port}"))
        viewer.interrupt()
        self.ends(viewer)
        again.interrupt()
        self.ends(again)
        self.assertEqual(self.stats(viewer)["sessions"], 2)

    def test_a_stopped_end_is_slow_and_not_dead(self):
        sender = self.rdma_sender(*STREAM)
        viewer = self.rdma_viewer(sender, terminal=True)
        viewer.wait_line("shown [1-9]")
        said = len(sender.lines)
        viewer.pause()
        # Longer than any timeout of an RDMA peer or device: the viewer's device answers for the stopped viewer.
        time.sleep(6.5)
        self.assertFalse([line for line in sender.lines[said:] if line.startswith("viewer ")], "a session has ended")
        viewer.go_on()
        viewer.wait_line("shown [1-9]", after=len(viewer.lines) + 1)
        said = len(viewer.lines)
        sender.pause()
        time.sleep(6.5)
        self.assertFalse([line for line in viewer.lines[said:] if "lost" in line])
        sender.go_on()
        viewer.wait_line("shown [1-9]", after=len(viewer.lines) + 1)
        viewer.interrupt()
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.assertEqual(self.stats(viewer)["sessions"], 1)

    def test_the_viewer_listens_and_the_sender_dials(self):
        viewer = self.view("--listen", "127.0.0.1:0", "--transport", "rdma")
        port = viewer.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        sender = self.send("pattern:stamped", *("--size", "64x36", "--fps", "30", "--frames", "20"),
                           "--to", f"127.0.0.1:{port}", "--transport", "rdma")
        self.ends(sender)
        self.ends(viewer)
        sent, shown = self.checked_stats(sender, viewer)
        self.assertEqual((sent["transport"], shown["transport"], shown["frames_torn"]), ("rdma", "rdma", 0))

    @unittest.skipUnless(lab.IS_LAB, "others may be using the device")
    def test_a_device_that_is_removed(self):
        sender = self.open_sender()
        viewer = self.view(sender.address, "--insecure", terminal=True, prefix=self.other_user())
        viewer.wait_line("transport=rdma")
        viewer.wait_line("shown [1-9]")
        before = len(viewer.lines)
        removing = subprocess.Popen(["rdma", "link", "delete", "rxe0"])
        self.addCleanup(subprocess.run,
                        ["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", os.environ["FRAMEWIRE_LAB_DEVICE"]],
                        check=True)
        self.addCleanup(removing.wait)
        viewer.wait_line("^lost the sender: .*the RDMA device here was removed", after=before)
        sender.wait_line(r"^viewer .* \(rdma\): ")
        viewer.wait_line(r"transport=tcp .*\(auto: tcp; .*"
                         r"rdma: (no RDMA device here|the sender has none, its RDMA device is gone)", after=before)
        viewer.wait_line("shown [1-9]", after=len(viewer.lines))
        sender.interrupt()
        self.ends(viewer)
        self.ends(sender)
        self.assertEqual(self.stats(viewer)["frames_torn"], 0)
        # The Soft-RoCE device is removed only after the last program has closed it.
        self.assertEqual(removing.wait(harness.WATCHDOG_S), 0)

    @unittest.skipUnless(lab.IS_LAB, "others may be using the device")
    def test_a_port_that_is_down(self):
        """The control channel does not need the port."""
        sender = self.open_sender()
        self.addCleanup(self.mend_port)
        subprocess.run(["ip", "link", "set", os.environ["FRAMEWIRE_LAB_DEVICE"], "down"], check=True)
        self.assertNotEqual(lab.port_state(), "ACTIVE")
        here = f"127.0.0.1:{sender.port}"
        viewer = self.view(here, "--insecure", "--frames", "3", prefix=self.other_user())
        self.ends(viewer)
        viewer.wait_line(r"transport=tcp .*\(auto: tcp; .*rdma: .*; port 1 of rxe0 here is down")
        viewer = self.view(here, "--insecure", "--transport", "rdma", "--retry", "1s", prefix=self.other_user())
        self.ends(viewer, harness.LOST)
        self.one_message(viewer, "over RDMA.*; port 1 of rxe0 here is down")

    def mend_port(self):
        for program in self.programs:
            program.kill()  # the device cannot be deleted while a program has it open
        subprocess.run(["ip", "link", "set", os.environ["FRAMEWIRE_LAB_DEVICE"], "up"], check=True)
        lab.make_device_anew()

    # ---- the transport that auto chooses

    def open_sender(self, *arguments) -> harness.Program:
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "30", "--insecure", *arguments,
                              listen="*:0")
        sender.address = f"{lab.ADDRESS}:{sender.port}"
        return sender

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

    def test_a_viewer_that_may_lock_too_little(self):
        sender = self.rdma_sender("pattern:stamped", "--size", "640x360", "--fps", "10", prefix=self.limited(1 << 30))
        viewer = self.rdma_viewer(sender, prefix=self.limited(1 << 20))
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "cannot register", r"may lock only 1\.0", "ulimit -l unlimited")
        good = self.rdma_viewer(sender, "--frames", "3", prefix=self.limited(1 << 30))
        self.ends(good)

    def test_a_sender_that_may_lock_too_little(self):
        sender = self.rdma_sender("pattern:stamped", "--size", "640x360", "--fps", "10",
                                  "--allow-pull", prefix=self.limited(1 << 20))
        for how in ((), ("--pull",)):
            viewer = self.rdma_viewer(sender, *how, prefix=self.limited(1 << 30))
            self.ends(viewer, harness.REFUSED)
            self.one_message(viewer, "the sender cannot register", r"may lock only 1\.0", "ulimit -l unlimited")
        self.assertTrue(sender.is_running())

    def test_auto_does_without_rdma_where_too_little_may_be_locked(self):
        frames = ("pattern:stamped", "--size", "640x360", "--fps", "10", "--insecure")
        why = r"transport=tcp .*\(auto: tcp; .*rdma: .*cannot register .* may lock only"
        # The sender cannot lock its pool, or with 64 KiB not even the memory of a connection.
        for memlock_bytes in (1 << 20, 1 << 16):
            sender = self.send_on(*frames, listen="*:0", prefix=self.limited(memlock_bytes))
            viewer = self.view(f"{lab.ADDRESS}:{sender.port}", "--insecure", "--frames", "3")
            self.ends_without_rdma(viewer, why)
        # The viewer cannot lock its ring.
        sender = self.send_on(*frames, listen="*:0")
        viewer = self.view(f"{lab.ADDRESS}:{sender.port}", "--insecure", "--frames", "3", prefix=self.limited(1 << 20))
        self.ends_without_rdma(viewer, why)
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
