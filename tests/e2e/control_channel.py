"""The frames of the control channel (docs/wire.md), for peers that tests play."""
import json
import socket


def framed(message: dict) -> bytes:
    text = json.dumps(message).encode()
    return len(text).to_bytes(4, "little") + text


def read_exactly(connection: socket.socket, count: int) -> bytes:
    some = b""
    while len(some) < count:
        more = connection.recv(count - len(some))
        if not more:
            raise OSError("hung up")
        some += more
    return some


def hear(connection: socket.socket) -> dict:
    return json.loads(read_exactly(connection, int.from_bytes(read_exactly(connection, 4), "little")))


def say(connection: socket.socket, **message):
    connection.sendall(framed(message))
