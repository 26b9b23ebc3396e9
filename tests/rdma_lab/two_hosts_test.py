"""Two machines with RDMA between them, and what happens to the network: this file runs on both, 1 sends and 2 views.

Every fault is proven by a counter before it counts. In the lab only: scripts/rdma-lab --hosts 2.
"""
import json
import re
import subprocess
import sys
import time

import lab
from lab import harness

import pictures

SIZE = (160, 90)
FRAME_BYTES = SIZE[0] * SIZE[1] * 4
SOURCE = ("pattern:stamped", "--size", f"{SIZE[0]}x{SIZE[1]}", "--fps", "10")
PORT = 5290


class TwoHosts(lab.Play):
    """Each test is a play of two: sender() on the first machine, viewer() on the second."""

    def start_sender(self, *options) -> harness.Program:
        sender = self.send(*SOURCE, "--listen", f"*:{PORT}", "--key", self.key, *options)
        sender.wait_line("^listening on")
        self.meet("listens")
        return sender

    def start_viewer(self, *options) -> harness.Program:
        self.meet("listens")
        viewer = self.view(f"{lab.PEER}:{PORT}", "--key", self.key, *options, terminal=True)
        viewer.wait_line("shown [1-9]")
        return viewer

    def end_sender(self, sender):
        self.meet("viewer has ended")
        sender.interrupt()
        self.ends(sender)
        return self.stats(sender)

    def end_viewer(self, viewer):
        viewer.interrupt()
        self.ends(viewer)
        self.meet("viewer has ended")
        shown = self.stats(viewer)
        self.assertEqual(shown["frames_torn"], 0)
        return shown

    def test_auto_takes_rdma(self):
        def sender():
            sent = self.end_sender(self.start_sender())
            self.assertEqual(sent["transport"], "rdma")
            self.assertLessEqual(sent["frames_lost"], 3, "what was under way when the viewer left")

        def viewer():
            viewer = self.start_viewer()
            viewer.wait_line(r"transport=rdma memory=host auth=psk control=tls1.3 .*\(auto: rdma; local needs")
            self.assertEqual(self.end_viewer(viewer)["transport"], "rdma")

        self.play(sender, viewer)

    def check_link_down(self, seconds: float):
        def sender():
            sender = self.start_sender()
            self.meet("cut")
            sender.wait_line(r"^viewer .* \(rdma\): ")
            sent = self.end_sender(sender)
            self.assertEqual(len(sent["sessions"]), 2)

        def viewer():
            viewer = self.start_viewer()
            lab.link("cut")
            cut_at = time.monotonic()
            self.assertNotEqual(self.port_state(), "ACTIVE")
            self.meet("cut")
            said = viewer.wait_line("^lost the sender: (.*)").group(1)
            self.assertRegex(said, "sender")
            time.sleep(max(0.0, cut_at + seconds - time.monotonic()))
            before = len(viewer.lines)
            lab.link("restore")
            viewer.wait_line("transport=rdma", after=before)
            viewer.wait_line("shown [1-9]", after=len(viewer.lines))
            self.assertEqual(self.end_viewer(viewer)["sessions"], 2)

        self.play(sender, viewer)

    def port_state(self) -> str:
        said = subprocess.run(["rdma", "link", "show"], capture_output=True, text=True, check=True).stdout
        return re.search(r"state (\w+)", said).group(1)

    def test_link_down_for_two_seconds(self):
        self.check_link_down(2)

    def test_link_down_for_five_seconds(self):
        self.check_link_down(5)

    def test_a_network_that_says_nothing_any_more(self):
        def sender():
            sender = self.start_sender()
            self.meet("drops")
            lab.link("drop")
            sender.wait_line(r"^viewer .* \(rdma\): .*does not answer")
            self.meet("is noticed")
            lab.link("pass")
            self.end_sender(sender)

        def viewer():
            viewer = self.start_viewer()
            before = lab.counters().get("qdisc_dropped", 0)
            self.meet("drops")
            lab.link("drop")
            viewer.wait_line("^lost the sender: .*does not answer")
            self.assertGreater(lab.counters()["qdisc_dropped"], before)
            before = len(viewer.lines)
            self.meet("is noticed")
            lab.link("pass")
            viewer.wait_line("transport=", after=before)
            viewer.wait_line("shown [1-9]", after=len(viewer.lines))
            self.end_viewer(viewer)

        self.play(sender, viewer)

    def test_one_packet_of_a_hundred_lost(self):
        frames = 60

        def sender():
            sender = self.start_sender("--delivery", "every", "--frames", str(frames), "--timeout", "10s")
            lab.link("lossy", "1%")
            self.meet("lossy")
            self.ends(sender, seconds=120)
            dropped = lab.counters()["qdisc_dropped"]
            lab.link("lossless")
            self.assertGreater(dropped, 0, "packets were lost")
            self.meet("viewer has ended")
            self.assertEqual((self.stats(sender)["frames_lost"], self.stats(sender)["frames_skipped"]), (0, 0))

        def viewer():
            record = pictures.StampedRecording(self.file("lossy.rgba"), FRAME_BYTES)
            self.meet("listens")
            self.meet("lossy")
            viewer = self.view(f"{lab.PEER}:{PORT}", "--key", self.key, "--timeout", "10s", "--output", record.path,
                               "--transport", "rdma")  # auto would take tcp if connecting loses two packets
            self.ends(viewer, seconds=120)
            self.meet("viewer has ended")
            self.assertEqual(record.sequences(), list(range(frames)))
            self.assertEqual(self.stats(viewer)["transport"], "rdma")

        self.play(sender, viewer)

    def check_that_connecting_can_be_interrupted(self):
        """Where the network swallows RDMA an attempt lasts six seconds; Ctrl-C does not wait for them."""
        viewer = self.view(f"{lab.PEER}:{PORT}", "--key", self.key, "--transport", "rdma")
        viewer.wait_line("^waiting for")
        harness.wait_until(lambda: lab.held_objects()["cm_id"] > self.held_before["cm_id"], "the attempt to begin")
        asked = time.monotonic()
        viewer.interrupt()
        self.ends(viewer)
        self.assertLess(time.monotonic() - asked, 4)

    def test_a_bench_through_a_firewall_that_knows_no_rdma(self):
        def sender():
            subprocess.run(["nft", "add table inet lab; add chain inet lab in { type filter hook input priority 0; }; "
                            "add rule inet lab in udp dport 4791 counter drop"], check=True)
            server = self.start(harness.BIN / "framewire-bench", "--listen", f"*:{PORT}", "--key", self.key, stdout=subprocess.DEVNULL)
            server.wait_line("^waiting for a sender on")
            self.meet("listens")
            self.meet("measured")
            subprocess.run(["nft", "delete table inet lab"], check=True)
            server.interrupt()
            self.ends(server)

        def viewer():
            self.meet("listens")
            with self.file("stdout").open("w+b") as stdout:
                client = self.start(harness.BIN / "framewire-bench", f"{lab.PEER}:{PORT}", "--key", self.key, "--message-bytes", "64,4k", "--count",
                                    "5", "--json", stdout=stdout)
                self.ends(client, seconds=4 * harness.WATCHDOG_S)
            rows = json.loads(self.file("stdout").read_text())["results"]
            self.assertEqual([(row["transport"], row["count"]) for row in rows], [("tcp", 5)] * 4)
            client.wait_line("^framewire-bench: rows are left out from rdma stream of 64 bytes on, there is no rdma: ")
            client.wait_line("^framewire-bench: rows are left out from verbs send of 64 bytes on, there is no verbs: .*UDP port 4791")
            self.assertEqual(len(client.lines), 2, client.text)  # each is tried once
            self.meet("measured")

        self.play(sender, viewer)

    def test_a_firewall_that_knows_no_rdma(self):
        def sender():
            subprocess.run(["nft", "add table inet lab; add chain inet lab in { type filter hook input priority 0; }; "
                            "add rule inet lab in udp dport 4791 counter drop"], check=True)
            sender = self.start_sender()
            self.meet("connected")
            said = subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout
            subprocess.run(["nft", "delete table inet lab"], check=True)
            self.assertRegex(said, r"counter packets [1-9]")
            self.assertEqual(self.end_sender(sender)["transport"], "tcp")

        def viewer():
            viewer = self.start_viewer()
            viewer.wait_line(r"transport=tcp .*\(auto: tcp; local needs .*; rdma: .*(did not answer|does not answer).*UDP port 4791")
            self.check_that_connecting_can_be_interrupted()
            self.meet("connected")
            self.end_viewer(viewer)

        self.play(sender, viewer)

    def test_a_stranger_gets_nothing(self):
        def sender():
            sender = self.start_sender()
            held = lab.held_objects()
            self.meet("stranger knocks")
            self.meet("stranger has gone")
            self.assertEqual(lab.held_objects(), held)
            self.end_sender(sender)

        def viewer():
            viewer = self.start_viewer()
            self.meet("stranger knocks")
            for _ in range(3):
                stranger = self.start("ib_write_lat", "-R", "-p", str(PORT), "-n", "10", lab.PEER)  # speaks perftest's own words
                self.assertNotEqual(stranger.wait_end(), 0)
            self.meet("stranger has gone")
            shown = self.end_viewer(viewer)
            self.assertEqual(shown["sessions"], 1)

        self.play(sender, viewer)


if __name__ == "__main__":
    sys.exit(harness.main())
