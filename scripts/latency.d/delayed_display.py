#!/usr/bin/env python3
"""delayed_display.py DISPLAY MS: a display whose programs reach the X server DISPLAY late.

A relay of Unix sockets: what a program sends is held back by MS, what the server answers is not. Descriptors go along.
Prints the name of its display, and runs until it is ended.
"""
import array
import collections
import contextlib
import os
import pathlib
import socket
import sys
import threading
import time

SOCKETS = pathlib.Path("/tmp/.X11-unix")
DISPLAYS = range(100, 200)  # servers take the first free number
MOST_DESCRIPTORS = 28  # in one message: XCB's and the server's limit is 16
CHUNK_BYTES = 1 << 20


def receive(source: socket.socket) -> tuple[bytes, list[int]]:
    descriptors = array.array("i")
    data, ancillary, _, _ = source.recvmsg(CHUNK_BYTES, socket.CMSG_SPACE(MOST_DESCRIPTORS * descriptors.itemsize))
    for level, kind, values in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(values[:len(values) - len(values) % descriptors.itemsize])
    return data, list(descriptors)


def send(sink: socket.socket, data: bytes, descriptors: list[int]):
    """Closes the descriptors."""
    try:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = sink.sendmsg([data], rights)
        sink.sendall(data[sent:])
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


class Direction:
    """From one socket to another: a thread reads, and another one writes what is due."""

    def __init__(self, source: socket.socket, sink: socket.socket, delay_s: float):
        self._source, self._sink, self._delay_s = source, sink, delay_s
        self._waiting: collections.deque[tuple[float, bytes, list[int]]] = collections.deque()
        self._changed = threading.Condition()
        for target in (self._read, self._write):
            threading.Thread(target=target, daemon=True).start()

    def _read(self):
        data = b"?"
        while data:
            try:
                data, descriptors = receive(self._source)
            except OSError:
                data, descriptors = b"", []
            with self._changed:
                self._waiting.append((time.monotonic() + self._delay_s, data, descriptors))
                self._changed.notify()

    def _write(self):
        with contextlib.suppress(OSError):  # the other end has gone
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting)
                    due_s, data, descriptors = self._waiting.popleft()
                time.sleep(max(due_s - time.monotonic(), 0))
                if not data:
                    break
                send(self._sink, data, descriptors)
        with contextlib.suppress(OSError):
            self._sink.shutdown(socket.SHUT_WR)


def listen() -> tuple[socket.socket, pathlib.Path, int]:
    listener = socket.socket(socket.AF_UNIX)
    for number in DISPLAYS:
        path = SOCKETS / f"X{number}"
        with contextlib.suppress(OSError):  # it is taken
            listener.bind(str(path))
            listener.listen()
            return listener, path, number
    sys.exit(f"delayed_display: no display from :{DISPLAYS[0]} to :{DISPLAYS[-1]} is free in {SOCKETS}")


def main():
    server, delay_s = SOCKETS / ("X" + sys.argv[1].lstrip(":")), float(sys.argv[2]) / 1000
    listener, path, number = listen()
    try:
        print(f":{number}", flush=True)
        while True:
            program, _ = listener.accept()
            x = socket.socket(socket.AF_UNIX)
            x.connect(str(server))
            Direction(program, x, delay_s)
            Direction(x, program, 0)
    except KeyboardInterrupt:
        pass
    finally:
        path.unlink()


if __name__ == "__main__":
    main()
