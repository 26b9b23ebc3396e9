"""What viewers do reaches the program that runs the sender, and messages go both ways."""
import json
import os
import socket
import time

import harness
from played_viewer import VIEWER_ID, PlayedViewer

KEY = {"type": "key", "usage": 4, "keysym": 97, "repeat": False, "modifiers": 0}
PRESS, RELEASE = {**KEY, "pressed": True}, {**KEY, "pressed": False}
FOCUS = {"type": "focus", "focused": True}


def text(letters: str) -> dict:
    return {"type": "text", "text": letters}


class Input(harness.EndToEnd):
    def pipe(self):
        """The reading end as a file of lines, and the writing end."""
        reads, writes = os.pipe()
        file = os.fdopen(reads, "r", encoding="utf-8")
        self.addCleanup(file.close)
        return file, writes

    def sender(self, *arguments, sources=("pattern",), pass_fds=(), **options):
        # A played viewer is silent for as long as its test takes.
        sender = self.send_on(*sources, "--size", "64x36", "--insecure", "--timeout", f"{harness.WATCHDOG_S:.0f}s",
                              *arguments, pass_fds=pass_fds, **options)
        for descriptor in pass_fds:
            os.close(descriptor)
        return sender

    def ends_well(self, sender):
        sender.interrupt()
        self.ends(sender)
        return self.stats(sender)

    def next_line(self, file) -> dict:
        return json.loads(file.readline())

    def test_events_come_as_lines_and_are_released(self):
        events, writes = self.pipe()
        sender = self.sender("--events", writes, pass_fds=[writes])
        with PlayedViewer(sender.port) as viewer, PlayedViewer(sender.port) as other:
            viewer.input(FOCUS, PRESS, text("ß"), {"type": "pen", "pressure": 1})
            self.assertEqual(viewer.answers(), [])
            common = {"version": 1, "viewer": VIEWER_ID, "epoch": 1, "time_ns": 1}
            for event in (FOCUS, PRESS, text("ß")):
                line = self.next_line(events)
                self.assertLessEqual(line.pop("queued_ns"), time.monotonic_ns())
                self.assertEqual(line, {**common, **event})
            other.input(text("b"))
            self.assertRegex(other.answers()[0]["text"], "another viewer")
            viewer.__exit__()
            self.assertEqual(self.next_line(events), {**common, **RELEASE})
            self.assertEqual(self.next_line(events), {**common, "type": "focus", "focused": False})
            self.assertEqual(other.hear("no_input")["text"], "", "it is told that it may")
            other.input(text("b"))
            self.assertEqual(self.next_line(events)["text"], "b")
        stats = self.ends_well(sender)
        self.assertEqual(stats["input_events_received"], 4)
        self.assertEqual(stats["input_events_dropped"], 0)
        self.assertEqual(events.read(), "")

    def test_standard_output_takes_events(self):
        events, writes = self.pipe()
        sender = self.sender("--events", "-", stdout=writes)
        os.close(writes)
        with PlayedViewer(sender.port) as viewer:
            viewer.input(text("a"))
            self.assertEqual(self.next_line(events)["text"], "a")
        self.ends_well(sender)

    def test_only_scenes_take_input_without_it(self):
        sender = self.sender(sources=("pattern", "gl:"))
        with PlayedViewer(sender.port, 0) as viewer:
            viewer.input(text("a"))
            viewer.input(text("a"))
            answers = viewer.answers()
            self.assertEqual([answer["type"] for answer in answers], ["no_input"], "once")
            self.assertRegex(answers[0]["text"], "takes no input.*--events")
            viewer.say(type="message", body={})
            self.assertRegex(viewer.answers()[0]["text"], "--messages")
        with PlayedViewer(sender.port, 1) as viewer:
            viewer.input(text("a"))
            self.assertEqual(viewer.answers(), [])
        self.ends_well(sender)

    def test_lines_name_the_stream_of_several(self):
        events, writes = self.pipe()
        sender = self.sender("--name", "left", "--name", "right", "--events", writes, sources=("pattern", "pattern"),
                             pass_fds=[writes])
        with PlayedViewer(sender.port, 1) as right, PlayedViewer(sender.port, 0) as left:
            right.input(text("r"))
            self.assertEqual(self.next_line(events)["stream"], "right")
            left.input(text("l"))
            self.assertEqual(self.next_line(events)["stream"], "left")
        self.ends_well(sender)

    def test_a_reader_that_has_gone_costs_only_the_input(self):
        events, writes = self.pipe()
        sender = self.sender("--events", writes, pass_fds=[writes])
        with PlayedViewer(sender.port) as viewer:
            viewer.input(text("a"))
            self.next_line(events)
            events.close()
            sender.wait_line("nobody reads the events any more")
            viewer.input(text("a"))
            self.assertRegex(viewer.answers()[0]["text"], "has ended")
            self.assertEqual(viewer.answers(), [], "the session goes on")
        self.ends_well(sender)
        self.assertEqual(sender.text.count("nobody reads"), 1)

    def test_a_reader_that_stalls_costs_only_events(self):
        _, writes = self.pipe()
        sender = self.sender("--events", writes, pass_fds=[writes])
        with PlayedViewer(sender.port) as viewer:
            for _ in range(40):
                viewer.input(*[text("a")] * 256)
            self.assertEqual(viewer.answers(), [])
            stats = self.ends_well(sender)
        self.assertEqual(stats["input_events_received"], 40 * 256)
        self.assertGreater(stats["input_events_dropped"], 20 * 256)
        self.assertIn(f"{stats['input_events_dropped']} events were dropped", sender.text)

    def test_messages_go_both_ways(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        ours.settimeout(harness.WATCHDOG_S)
        lines = ours.makefile("r", encoding="utf-8")
        self.addCleanup(lines.close)
        sender = self.sender("--messages", theirs.fileno(), pass_fds=[theirs.detach()])
        with PlayedViewer(sender.port) as first, PlayedViewer(sender.port) as second:
            second.answers()
            second.say(type="message", body={"camera": [1, 2.5]})
            self.assertEqual(self.next_line(lines), {"viewer": 2, "body": {"camera": [1, 2.5]}})
            for bad in (b"no JSON", b"[1]", b"{" * 100, b'{"a":"' + b"x" * 70000 + b'"}', b"\xff",
                        b'{"stream":"other","body":{}}'):
                ours.sendall(bad + b"\n")
            ours.sendall(b'{"score": 7}\n{"stream":"pattern","body":{"score":8}}\n')
            for viewer in (first, second):
                self.assertEqual([viewer.hear("message")["body"] for _ in range(2)], [{"score": 7}, {"score": 8}])
        stats = self.ends_well(sender)
        self.assertEqual((stats["messages_received"], stats["messages_sent"], stats["messages_dropped"]), (1, 2, 0))
        self.assertEqual(sender.text.count("ignores lines"), 1)
        self.assertIn("6 lines were ignored", sender.text)

    def test_messages_of_both_programs(self):
        """framewire's own viewer at the other end, which shows two streams."""
        ends = [socket.socketpair() for _ in range(2)]
        lines = []
        for ours, _ in ends:
            self.addCleanup(ours.close)
            ours.settimeout(harness.WATCHDOG_S)
            lines.append(ours.makefile("r", encoding="utf-8"))
            self.addCleanup(lines[-1].close)
        at_sender, at_viewer = lines
        sender = self.sender("--name", "left", "--name", "right", "--messages", ends[0][1].fileno(),
                             sources=("pattern", "pattern"), pass_fds=[ends[0][1].detach()])
        theirs = ends[1][1].detach()
        viewer = self.view(f"{sender.address}/left", f"{sender.address}/right", "--insecure", "--messages", theirs,
                           pass_fds=[theirs])
        os.close(theirs)
        harness.wait_until(lambda: viewer.text.count("transport=") == 2, "two sessions")
        ends[1][0].sendall(b'{"a":1}\n{"stream":"right","body":{"a":2}}\nno JSON\n{"stream":"top","body":{}}\n')
        heard = [self.next_line(at_sender) for _ in range(2)]
        self.assertEqual(sorted((line["stream"], line["body"]["a"]) for line in heard), [("left", 1), ("right", 2)])
        ends[0][0].sendall(b'{"stream":"right","body":{"b":1}}\n')
        self.assertEqual(self.next_line(at_viewer), {"stream": "right", "body": {"b": 1}})
        viewer.interrupt()
        self.ends(viewer)
        self.assertIn("1 lines were ignored, and 1 found no sender", viewer.text)
        self.ends_well(sender)

    def test_messages_may_have_two_descriptors(self):
        lines, writes = self.pipe()
        reads, program = os.pipe()
        sender = self.sender("--messages", f"{reads},{writes}", sources=("pattern", "pattern:stamped"),
                             pass_fds=[reads, writes])
        with PlayedViewer(sender.port, 1) as viewer, PlayedViewer(sender.port, 0) as other:
            viewer.say(type="message", body={"a": 1})
            self.assertEqual(self.next_line(lines), {"viewer": 1, "stream": "pattern-stamped", "body": {"a": 1}})
            os.write(program, b'{"stream":"pattern-stamped","body":{"b":1}}\n{"all":true}')
            os.close(program)
            self.assertEqual([viewer.hear("message")["body"] for _ in range(2)], [{"b": 1}, {"all": True}])
            self.assertEqual(other.hear("message")["body"], {"all": True})
            viewer.say(type="message", body={"a": 2})
            self.assertEqual(self.next_line(lines)["body"], {"a": 2}, "it writes on when nothing more can be read")
            lines.close()
            sender.wait_line("nobody reads the viewers' messages")
            viewer.say(type="message", body={"a": 3})
            self.assertRegex(viewer.answers()[0]["text"], "--messages")
        self.ends_well(sender)

    def test_wrong_descriptors_are_refused(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        self.addCleanup(os.close, writes)
        for arguments, said in ((("--events", 99), "99"), (("--events", reads), "not open for writing"),
                                (("--messages", writes), "not open for reading"), (("--messages", "1,x"), "'x'")):
            sender = self.run_to_end(harness.BIN / "framewire-send", "pattern", *arguments, pass_fds=[reads, writes])
            self.ends(sender, harness.USAGE)
            self.one_message(sender, arguments[0], said)


if __name__ == "__main__":
    harness.main()
