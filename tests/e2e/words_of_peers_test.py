"""Text from a peer, a file or standard input sends no control character to the terminal and forges no line."""
import os
import re
import socket

import harness
from control_channel import framed, hear, read_exactly

FORGED = "framewire-view: all is well"
EVIL = f"a\u009b31mb\u202ec\u2066d\u200e\x1b[2Je\x07\r\n{FORGED}"
# C0 (but for line ends, where the harness splits), DEL, C1, bidirectional controls, and invalid UTF-8.
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]")


ACCEPTED = {"type": "accepted"}
HELLO = {"type": "hello", "role": "sender", "program": EVIL, "versions": [1]}


def offer(**more) -> dict:
    return {"type": "offer", "session": "0" * 32, "streams": [{"name": EVIL, "number": 1, "delivery": "latest"}],
            "links": [], **more}


# Kind of text: the sender's messages in order, the viewer's stream argument, the viewer's exit status.
SENDERS = {
    "a refusal in place of the answer": ([{"type": "refused", "text": EVIL}], "", harness.REFUSED),
    "an answer of another kind": ([{"type": EVIL}], "", harness.FAILED),
    "a refusal": ([ACCEPTED, {"type": "refused", "text": EVIL}], "", harness.REFUSED),
    "a role": ([ACCEPTED, {**HELLO, "role": EVIL}], "", harness.REFUSED),
    "a program's name": ([ACCEPTED, {**HELLO, "versions": [99]}], "", harness.REFUSED),
    "a viewer's name": ([ACCEPTED, {**HELLO, "role": "viewer"}], "", harness.REFUSED),
    "a message of another kind": ([ACCEPTED, {"type": EVIL}], "", harness.FAILED),
    "streams": ([ACCEPTED, HELLO, offer()], "/none", harness.REFUSED),
    "what it has no RDMA for": ([ACCEPTED, HELLO, offer(why_no_rdma=EVIL)], "", harness.REFUSED),
    "a part of a message": ([ACCEPTED, HELLO, offer(streams=[{"type": EVIL}])], "", harness.FAILED),
}


class WordsOfPeers(harness.EndToEnd):
    def has_nothing_to_obey(self, program):
        self.assertIn("31m", program.text, "they came here")
        for line in program.lines:
            self.assertNotRegex(line, STEERING)
            self.assertFalse(line.startswith(FORGED), program.text)

    def serve_messages(self, messages) -> str:
        def talk(connection):
            read_exactly(connection, len(b"FWCTRL01\r\n\r\n"))
            connection.sendall(b"FWREPL01" + b"".join(framed(message) for message in messages))
            while connection.recv(65536):
                pass

        return self.serve_connections(talk)

    def test_senders_to_viewers(self):
        for name, (messages, stream, status) in SENDERS.items():
            with self.subTest(name):
                viewer = self.view_until_answered(self.serve_messages(messages) + stream, "--insecure", "--verbose")
                self.ends(viewer, status)
                self.has_nothing_to_obey(viewer)

    def test_viewers_to_senders(self):
        sender = self.send_on("pattern", "--size", "64x36", "--insecure", "--verbose")
        hello = {**HELLO, "role": "viewer"}
        choice = {"type": "choose", "stream": 0, "link": "tcp", "delivery": "latest", "why": EVIL}
        for messages in ([{**hello, "role": EVIL}], [{**hello, "versions": [99]}], [{"type": EVIL}],
                         [hello, {"type": "refused", "text": EVIL}],
                         [hello, choice, {"type": "bye", "reason": EVIL, "frames_sent": 0, "frames_received": 0}]):
            with self.subTest(messages), socket.create_connection(("127.0.0.1", sender.port)) as viewer:
                viewer.settimeout(harness.WATCHDOG_S)
                viewer.sendall(b"FWCTRL01\r\n\r\n")
                self.assertEqual(read_exactly(viewer, 8), b"FWREPL01")
                self.assertEqual(hear(viewer)["type"], "accepted")
                viewer.sendall(b"".join(framed(message) for message in messages))
                try:
                    while viewer.recv(65536):
                        pass
                except ConnectionResetError:
                    pass
        sender.interrupt()
        self.ends(sender)
        self.has_nothing_to_obey(sender)

    def test_standard_input(self):
        for words in (EVIL.encode(), b"\x9b31m\xff\xfe" + os.urandom(1000),
                      b"YUV4MPEG2 W64 H36 F30:1 C\xc2\x9b31m\xe2\x80\xae\n"):
            with self.subTest(words[:40]):
                self.file("stdin").write_bytes(words)
                with self.file("stdin").open("rb") as stdin:
                    sender = self.send_to_its_end("-", stdin=stdin)
                self.has_nothing_to_obey(sender)

    def test_names_of_files(self):
        name = b"31m\xc2\x9b\x9b\xe2\x80\xae\nx.mkv"
        (self.folder / os.fsdecode(name)).write_bytes(b"nothing")
        sender = self.run_to_end(harness.BIN / "framewire-send", os.fsdecode(name))
        self.assertEqual(sender.process.returncode, harness.FAILED)
        self.has_nothing_to_obey(sender)


if __name__ == "__main__":
    harness.main()
