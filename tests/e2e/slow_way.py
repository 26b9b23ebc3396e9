"""A long way to a sender: a relay of TCP connections through which everything comes later."""
import collections
import contextlib
import random
import socket
import threading
import time

CHUNK_BYTES = 1 << 16


class SlowWay:
    """Listens on `address`. What it gets goes on `delay_s` later, and up to `jitter_s` more, in both directions;
    nothing does while it is held."""

    def __init__(self, port: int, delay_s: float, jitter_s: float = 0):
        self._port, self._delay_s, self._jitter_s = port, delay_s, jitter_s
        self._is_open = threading.Event()
        self._is_open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets = [self._listener]
        self._threads: list[threading.Thread] = []
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)

    def _delays(self) -> float:
        return self._delay_s + random.uniform(0, self._jitter_s)

    def hold(self):
        """As if the network had broken down: what is on its way arrives after release()."""
        self._is_open.clear()

    def release(self):
        self._is_open.set()

    def close(self):
        self.release()
        for one in self._sockets:
            with contextlib.suppress(OSError):  # the other end has closed it
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()

    def _start(self, target, *arguments):
        self._threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):  # close(), or the sender has ended
            while True:
                here, _ = self._listener.accept()
                self._sockets.append(here)
                there = socket.create_connection(("127.0.0.1", self._port))
                self._sockets.append(there)
                for one, other in ((here, there), (there, here)):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    direction = _Direction(one, other, self._delays, self._is_open)
                    self._start(direction.read)
                    self._start(direction.write)


class _Direction:
    """From one socket to another: a thread reads, and another one writes what is due."""

    def __init__(self, source: socket.socket, sink: socket.socket, delays, is_open: threading.Event):
        self._source, self._sink, self._delays, self._is_open = source, sink, delays, is_open
        self._waiting: collections.deque[tuple[float, bytes]] = collections.deque()
        self._changed = threading.Condition()

    def read(self):
        data = b"?"
        while data:
            try:
                data = self._source.recv(CHUNK_BYTES)
            except OSError:
                data = b""
            with self._changed:
                self._waiting.append((time.monotonic() + self._delays(), data))
                self._changed.notify()

    def write(self):
        with contextlib.suppress(OSError):
            while data := self._next():
                self._sink.sendall(data)
            self._sink.shutdown(socket.SHUT_WR)

    def _next(self) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            due_s, data = self._waiting.popleft()
        time.sleep(max(due_s - time.monotonic(), 0))
        self._is_open.wait()
        return data
