"""A viewer that a test plays (docs/wire.md): it takes its place in a stream, and reads no frames."""
import hashlib
import hmac
import itertools
import socket

import harness
from control_channel import hear, read_exactly, say

TCP_LINK, INDEX = 2, 0
VIEWER_ID = "0123456789abcdef"


def proof(token: bytes, session: bytes) -> bytes:
    return hmac.new(token, b"framewire data 1d" + session + bytes([INDEX]) + b"tcp", hashlib.sha256).digest()


class PlayedViewer:
    """Of a sender with --insecure. `with` closes it."""

    def __init__(self, port: int, stream: int = 0):
        self._control = self._connect(port)
        self._control.sendall(b"FWCTRL01\r\n\r\n")
        assert read_exactly(self._control, 8) == b"FWREPL01"
        self.hear("accepted")
        say(self._control, type="hello", role="viewer", program="test", versions=[1])
        session = bytes.fromhex(self.hear("offer")["session"])
        say(self._control, type="choose", stream=stream, link="tcp", delivery="latest")
        token = bytes.fromhex(self.hear("connect")["token"])
        self._data = self._connect(port)
        self._data.sendall(b"FWDATA01" + session + bytes([TCP_LINK, INDEX, 0, 0]) + proof(token, session))
        read_exactly(self._data, 40)
        self.say(type="ready", number=self.hear("epoch")["number"], ring_slots=4)
        self._clocks = itertools.count(1)

    @staticmethod
    def _connect(port: int) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", port))
        connection.settimeout(harness.WATCHDOG_S)
        return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._control.close()
        self._data.close()

    def hear(self, wanted: str) -> dict:
        """The next message of this type; others are passed over."""
        while (message := hear(self._control))["type"] != wanted:
            pass
        return message

    def say(self, **message):
        say(self._control, **message)

    def input(self, *events: dict):
        self.say(type="input", version=1, viewer=VIEWER_ID, epoch=1,
                 events=[{"time_ns": 1, **event} for event in events])

    def answers(self) -> list[dict]:
        """What the sender has said about all that was sent until now."""
        number = next(self._clocks)
        self.say(type="clock", viewer_ns=number, sender_ns=0)
        answers = []
        while (message := hear(self._control))["type"] != "clock":
            answers.append(message)
        return [message for message in answers if message["type"] not in ("epoch", "hello")]
