"""The real programs over RDMA on one machine: all ways to end, and limits."""
import os
import subprocess
import time
import unittest

import lab
from lab import harness
from one_host import STREAM, OneHostTest

import pictures

STREAM_FRAME_BYTES = 160 * 90 * 4


class OneHostFaults(OneHostTest):
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
        for _ in range(2):  # the numbers have to be exactly the same, so that one object left would show
            viewer = self.rdma_viewer(sender, "--frames", "2")
            self.ends(viewer)
            lab.wait_until_held(idle)  # those of the sender without a viewer
        viewer = self.rdma_viewer(sender, terminal=True)
        viewer.wait_line("shown [1-9]")
        both = lab.held_objects()
        again = self.replaced(sender, viewer, lambda: self.rdma_sender(*STREAM, listen=f"127.0.0.1:{sender.port}"))
        lab.wait_until_held(both)
        viewer.interrupt()
        self.ends(viewer)
        again.interrupt()
        self.ends(again)

    def test_a_viewer_comes_back_with_the_memory_for_one_ring(self):
        """The memory of a lost session is unregistered before the next session registers its own."""
        stream = ("pattern:stamped", "--size", "1280x720", "--fps", "2", "--insecure")
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
        by_auto, by_rdma = (self.view(here, "--insecure", *how, prefix=self.other_user())
                            for how in (("--frames", "3"), ("--transport", "rdma", "--retry", "1s")))
        self.ends(by_auto)
        by_auto.wait_line(r"transport=tcp .*\(auto: tcp; .*rdma: .*; port 1 of rxe0 here is down")
        self.ends(by_rdma, harness.LOST)
        self.one_message(by_rdma, "over RDMA.*; port 1 of rxe0 here is down")

    def mend_port(self):
        for program in self.programs:
            program.kill()  # the device cannot be deleted while a program has it open
        subprocess.run(["ip", "link", "set", os.environ["FRAMEWIRE_LAB_DEVICE"], "up"], check=True)
        lab.make_device_anew()

    # ---- the transport that auto chooses

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
        # Both at once: most of the time goes into their starts.
        for viewer in [self.rdma_viewer(sender, *how, prefix=self.limited(1 << 30)) for how in ((), ("--pull",))]:
            self.ends(viewer, harness.REFUSED)
            self.one_message(viewer, "the sender cannot register", r"may lock only 1\.0", "ulimit -l unlimited")
        self.assertTrue(sender.is_running())


if __name__ == "__main__":
    harness.main()
