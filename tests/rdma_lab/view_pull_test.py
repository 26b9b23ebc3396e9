"""Read mode with the real programs: a viewer reads the sender's memory now and then. Measures what this costs the
sender."""
import json
import time

import lab
from lab import harness

import pictures

PATTERN = ("pattern:stamped", "--size", "160x90", "--fps", "20")
FRAME_BYTES = 160 * 90 * 4


class ViewPull(lab.RdmaTest):
    def pull(self, *arguments, **options) -> harness.Program:
        return self.view("--pull", *arguments, **options)

    def pulled(self, sender: harness.Program) -> list[int]:
        return [session["frames_pulled"] for session in json.loads(sender.stats_file.read_text())["sessions"]]

    def test_whole_frames_at_no_cost(self):
        sender = self.send_on(*PATTERN, "--allow-pull")
        record = pictures.StampedRecording(self.file("pulled.rgba"), FRAME_BYTES)
        viewer = self.pull(sender.address, "--pull-interval", "400ms", "--frames", "6", "--verify", "--output",
                           record.path)
        viewer.wait_line("transport=rdma .* mode=pull$")
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        shown, sent = self.stats(viewer), self.stats(sender)
        self.assertEqual((shown["frames_received"], shown["frames_torn"], shown["transport"]), (6, 0, "rdma"))
        numbers = record.sequences()
        self.assertEqual(shown["frames_skipped"], numbers[-1] - numbers[0] + 1 - 6)  # about seven between two reads
        self.assertGreater(shown["frames_skipped"], 0)
        self.assertGreaterEqual(shown["frames_checked"], 1)
        self.assertEqual((sent["frames_sent"], sent["frames_skipped"], sent["frames_pulled"]), (0, 0, 6))
        self.assertTrue(sent["sessions"][0]["said_bye"])

    def system_calls_per_second(self, sender: harness.Program, seconds: float) -> float:
        record = self.file("calls")
        watch = self.start(harness.require_tool("strace"), "-f", "-qq", "-ttt", "-o", record, "-p", str(sender.pid))
        harness.wait_until(lambda: record.exists() and record.stat().st_size > 0, "strace to see something")
        time.sleep(seconds)
        watch.interrupt()
        watch.wait_end()
        # The first field is the thread's number.
        times = [float(line.split()[1]) for line in record.read_text().splitlines()]
        return len(times) / (times[-1] - times[0])

    def test_the_sender_calls_for_no_look(self):
        """Five hundred reads a second, as far as the device manages, or one. Most reads find nothing new, and all read
        the sender's memory."""
        sender = self.send_on(*PATTERN, "--allow-pull")

        def calls(interval: str) -> float:
            viewer = self.pull(sender.address, "--pull-interval", interval)
            viewer.wait_line("mode=pull$")
            per_second = self.system_calls_per_second(sender, seconds=3)
            viewer.interrupt()
            self.ends(viewer)
            self.assertGreater(self.stats(viewer)["frames_received"], 0)
            return per_second
        often, seldom = calls("2ms"), calls("1s")
        sender.interrupt()
        self.ends(sender)
        self.assertLess(often - seldom, 40, f"{often:.1f} and {seldom:.1f} calls a second")

    def test_beside_viewers_that_are_sent_to(self):
        sender = self.send_on(*PATTERN, "--allow-pull", "--viewers", "1", "--slots", "1")
        record = self.file("pushed.rgba")
        pushed = self.view(sender.address, "--transport", "rdma", "--delivery", "latest", "--output", record,
                           "--frames", "40")
        pullers = [self.pull(sender.address, "--pull-interval", "20ms") for _ in range(2)]
        for viewer in pullers:
            viewer.wait_line("mode=pull")
        pullers[0].pause()  # a stopped viewer blocks no other
        self.ends(pushed)
        pullers[0].go_on()
        pullers[0].interrupt()
        self.ends(pullers[0])
        said = len(sender.lines)
        pullers[1].kill()
        sender.wait_line(r"^viewer .* \(rdma\): ", after=said)
        sender.interrupt()
        self.ends(sender)
        self.assertEqual(self.stats(pushed)["frames_torn"], 0)
        sent = self.stats(sender)
        self.assertEqual(len(sent["sessions"]), 3)
        self.assertEqual(sorted(session["frames_sent"] > 0 for session in sent["sessions"]), [False, False, True])

    def test_only_where_it_is_allowed(self):
        sender = self.send_on(*PATTERN, "--transport", "rdma")
        viewer = self.pull(sender.address)
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, "may not be pulled", "--allow-pull")
        self.assertTrue(sender.is_running())

    def test_the_viewer_listens_and_the_sender_dials(self):
        viewer = self.pull("--listen", "127.0.0.1:0", "--frames", "5")
        port = viewer.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        sender = self.send(*PATTERN, "--allow-pull", "--to", f"127.0.0.1:{port}")
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.assertEqual(self.stats(viewer)["frames_received"], 5)
        self.assertEqual(self.pulled(sender)[0], 5)

    def test_a_killed_sender_is_named(self):
        sender = self.send_on(*PATTERN, "--allow-pull")
        viewer = self.pull(sender.address, terminal=True)
        viewer.wait_line("shown [1-9]")
        sender.kill()
        viewer.wait_line("^lost the sender: ")
        viewer.interrupt()
        self.ends(viewer)
        self.assertEqual(self.stats(viewer)["frames_torn"], 0)

    def test_a_stream_that_ends_ends_the_looking(self):
        sender = self.send_on(*PATTERN, "--allow-pull", "--frames", "60")
        viewer = self.pull(sender.address, "--pull-interval", "20ms")
        self.ends(sender)
        self.ends(viewer)
        self.assertEqual(self.stats(viewer)["frames_received"], self.stats(sender)["frames_pulled"])


if __name__ == "__main__":
    harness.main()
