"""Unauthenticated peers, wrong keys, peers killed or stopped at any byte.

The output is exact. Otherwise it is a prefix, and the receiver reports that it is incomplete.
"""
import contextlib
import fcntl
import itertools
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import termios
import threading

import harness
from byte_programs import RING_BYTES, SEED, SLOT_BYTES, SMALL, BytePrograms

HALF_A_TLS_HELLO = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + bytes(34)
SAYINGS = (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0" * 4096, HALF_A_TLS_HELLO, b"FWCTRL01",
           b"FWDATA01" + bytes(200), b"")
ENDS = ("sender", "receiver")
LOCAL = ("--transport", "local")
OVER_TCP = tuple(("--transport", "tcp", *more) for more in ((), ("--encrypt",), ("--no-checksum",)))


class Peers(BytePrograms):
    def key(self, name: str):
        if not self.file(name).exists():
            self.ends(self.start(harness.BIN / "framewire-key", "--file", self.file(name)))
        return self.file(name)

    def knock(self, address: str, saying: bytes) -> socket.socket:
        host, port = address.split(":")
        connection = socket.create_connection((host, int(port)), harness.WATCHDOG_S)
        self.addCleanup(connection.close)
        try:
            connection.sendall(saying)
        except OSError:
            pass  # the peer may have closed it already
        return connection

    @staticmethod
    @contextlib.contextmanager
    def fed(sender, original):
        """The sender's standard input has half of `original`, and what the caller does is done before the other half.
        """
        whole = original.read_bytes()
        with sender.process.stdin as source:
            source.write(whole[:len(whole) // 2])
            source.flush()
            yield
            source.write(whole[len(whole) // 2:])

    def check_exact(self, receiver, sender, original):
        self.ends(sender)
        self.ends(receiver)
        self.assertTrue(self.file("copy").read_bytes() == original.read_bytes())

    # ---- unauthenticated peers

    def test_unauthenticated_peers_before_and_meanwhile(self):
        original, copy = self.data(3_000_000), self.file("copy")
        for options in (("--key", self.key("key")), ()):
            with self.subTest(options):
                receiver = self.receiver(copy, *options)
                kept = [self.knock(receiver.address, saying) for saying in SAYINGS]
                kept += [self.knock(receiver.address, os.urandom(10_000)) for _ in range(5)]
                sender = self.sender(receiver.address, "--transport", "tcp", *SMALL, *options, stdin=subprocess.PIPE)
                with self.fed(sender, original):
                    harness.wait_until(lambda: copy.exists() and copy.stat().st_size > 0, "the first bytes")
                    kept += [self.knock(receiver.address, saying) for saying in SAYINGS]
                self.check_exact(receiver, sender, original)
                copy.unlink()

    def test_unauthenticated_peers_at_a_sender_that_listens(self):
        original, port = self.data(1_000_000), harness.free_port()
        sender = self.sender("--listen", f"127.0.0.1:{port}", original, "--key", self.key("key"))
        harness.wait_until(lambda: self.listens(port), "the sender to listen")
        for saying in SAYINGS:
            self.knock(f"127.0.0.1:{port}", saying)
        wrong = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", self.file("wrong"),
                           "--key", self.key("other"))
        self.ends(wrong, harness.REFUSED)
        self.one_message(wrong, "key")
        self.assertFalse(self.file("wrong").exists(), "an older file would still be there")
        receiver = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", self.file("copy"),
                              "--key", self.key("key"))
        self.check_exact(receiver, sender, original)

    def test_a_viewer_of_pictures_does_not_end_a_sender_that_listens(self):
        original, port = self.data(100_000), harness.free_port()
        sender = self.sender("--listen", f"127.0.0.1:{port}", original)
        harness.wait_until(lambda: self.listens(port), "the sender to listen")
        viewer = self.view(f"127.0.0.1:{port}")
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, r"rdsend \S+ sends bytes, which 'framewire-view \S+' does not receive; start rdrecv")
        receiver = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", self.file("copy"))
        self.check_exact(receiver, sender, original)

    @staticmethod
    def listens(port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def test_two_hundred_connections_that_say_nothing(self):
        original = self.data(1_000_000)
        receiver = self.receiver(self.file("copy"), "--key", self.key("key"))
        idle = [self.knock(receiver.address, b"") for _ in range(200)]
        self.check_exact(receiver, self.sender(receiver.address, original, "--key", self.key("key")), original)
        self.assertEqual(len(idle), 200)

    def test_a_second_sender(self):
        """The first transfer is undisturbed. The receiver refuses the second sender and states the reason."""
        receiver = self.receiver(self.file("copy"))
        original = self.data(2_000_000)
        first = self.sender(receiver.address, *SMALL, stdin=subprocess.PIPE)
        with self.fed(first, original):
            first.wait_line("transport=")
            second = self.start(harness.BIN / "rdsend", receiver.address, self.data(100))
            self.ends(second, harness.REFUSED)
        self.one_message(second, "has a sender already")
        self.check_exact(receiver, first, original)

    def test_a_second_receiver(self):
        original, port = self.data(2_000_000), harness.free_port()
        sender = self.sender("--listen", f"127.0.0.1:{port}", *SMALL, stdin=subprocess.PIPE)
        ask = (harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}")
        first = self.start(*ask, self.file("copy"))
        with self.fed(sender, original):
            first.wait_line("transport=")
            second = self.start(*ask, self.file("other"))
            self.ends(second, harness.REFUSED)
        self.one_message(second, "has its receiver already")
        self.check_exact(first, sender, original)

    # ---- transfers that do not begin

    def test_a_port_in_use(self):
        receiver = self.receiver(self.file("copy"))
        for program, arguments in (("rdrecv", ()), ("rdsend", (self.data(1),))):
            second = self.run_to_end(harness.BIN / program, "--listen", receiver.address, *arguments)
            self.ends(second, harness.FAILED)
            self.one_message(second, f"port {receiver.address.split(':')[1]} is in use")

    def test_a_host_that_nobody_knows(self):
        for program, arguments in (("rdsend", ("no-such-host.invalid",)),
                                   ("rdrecv", ("--from", "no-such-host.invalid"))):
            with self.subTest(program):
                ended = self.run_to_end(harness.BIN / program, *arguments, "--retry", "500ms")
                self.assertIn(ended.process.returncode, (harness.FAILED, harness.LOST))
                self.one_message(ended, "no-such-host.invalid")
                self.assertRegex(ended.text, "not known")

    def test_nobody_there_to_receive_from(self):
        for verbose in ((), ("-v",)):
            with self.subTest(verbose):
                port = self.refusing_port()
                receiver = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", *verbose,
                                      self.file("copy"))
                receiver.wait_line(f"^nothing listens at 127.0.0.1:{port}; ")  # at once: it waits ten seconds
                receiver.interrupt()
                self.ends(receiver, harness.FAILED)
        receiver = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", "--retry", "500ms",
                              self.file("copy"))
        self.ends(receiver, harness.LOST)
        self.one_message(receiver, rf"no sender came at 127\.0\.0\.1:{port}; "
                                   rf"start one there with rdsend --listen '\*:{port}' FILE$")
        self.assertLessEqual(len([line for line in receiver.lines if "nothing listens" in line]), 1, receiver.text)
        self.assertFalse(self.file("copy").exists())

    # ---- transfers that end early

    def test_killed_at_any_byte(self):
        """The source is a file: sendfile() sends it when there is no checksum."""
        print(f"FRAMEWIRE_SEED={SEED} repeats this run", end=" ", flush=True)
        chance = random.Random(SEED)
        original = self.data(2_000_003)
        lost = 0
        cases = 2 * list(itertools.product((LOCAL, *OVER_TCP), (False, True), ENDS))
        for turn, (way, is_sender_waiting, victim) in enumerate(cases):
            moment = chance.choice((0, 1, 2_000_003, *(chance.randrange(2_000_003) for _ in range(3))))
            with self.subTest(f"{turn}: {victim}, {way}, the sender waits: {is_sender_waiting}, "
                              f"at {moment} with FRAMEWIRE_SEED={SEED}"):
                lost += self.check_killed(victim, moment, original, way, is_sender_waiting)
        self.assertGreater(lost, 10)

    def test_killed_after_so_many_bytes(self):
        """The sender passes on bytes from a pipe at once, so the copy must have all of them.

        The last case has every byte: only the end of the data is missing.
        """
        whole, copy = os.urandom(3 * RING_BYTES), self.file("copy")
        for bytes_before, way, is_sender_waiting, victim in itertools.product(
                (0, 1000, SLOT_BYTES, RING_BYTES + 1, len(whole)), OVER_TCP, (False, True), ENDS):
            with self.subTest(f"{victim} after {bytes_before}, {way}, the sender waits: {is_sender_waiting}"):
                copy.unlink(missing_ok=True)
                receiver, sender = self.both(copy, *way, *SMALL, is_sender_waiting=is_sender_waiting,
                                             stdin=subprocess.PIPE)
                with sender.process.stdin as source:
                    receiver.wait_line("transport=tcp")
                    sender.wait_line("transport=tcp")
                    source.write(whole[:bytes_before])
                    source.flush()
                    size = lambda: copy.stat().st_size if copy.exists() else 0
                    harness.wait_until(lambda wanted=bytes_before: size() == wanted, "all that was sent")
                    ended, survivor = (sender, receiver) if victim == "sender" else (receiver, sender)
                    self.assertTrue(survivor.is_running(), "nobody has said that this is all")
                    ended.kill()
                    self.check_survivor(survivor, victim, whole, whole[:bytes_before])
                    self.assertEqual(copy.exists(), bytes_before > 0, "an older file would still be there")

    def test_killed_in_the_middle_of_a_chunk(self):
        """The receiver is stopped, so the connection is full and one chunk is sent in part."""
        whole, copy = os.urandom(64_000_000), self.file("copy")
        for way, is_sender_waiting, victim in itertools.product(OVER_TCP, (False, True), ENDS):
            with self.subTest(f"{victim}, {way}, the sender waits: {is_sender_waiting}"):
                copy.unlink(missing_ok=True)
                receiver, sender = self.both(copy, *way, "--slots", 16, is_sender_waiting=is_sender_waiting,
                                             stdin=subprocess.PIPE)
                with sender.process.stdin as source:
                    source.write(whole[:1])
                    source.flush()
                    harness.wait_until(lambda: copy.exists() and copy.read_bytes() == whole[:1], "the first byte")
                    receiver.pause()
                    taken = 1 + self.fill(source.fileno(), whole[1:],
                                          (sender if is_sender_waiting else receiver).address)
                    sender.pause()
                    self.assertGreater(self.bytes_in(source.fileno()), 0, "some of it has not even been read")
                    ended, survivor = (sender, receiver) if victim == "sender" else (receiver, sender)
                    ended.signal(signal.SIGKILL)
                    survivor.go_on()
                    self.assertEqual(survivor.wait_end(), harness.LOST)
                written = copy.read_bytes() if copy.exists() else b""
                self.check_survivor(survivor, victim, whole, written)
                self.assertLess(len(written), taken)

    def fill(self, pipe: int, data: bytes, address: str) -> int:
        """Writes until the connection and the pipe stay full; returns the number of bytes written."""
        os.set_blocking(pipe, False)
        taken = turns = 0

        def stay_full() -> bool:
            nonlocal taken, turns
            with contextlib.suppress(BlockingIOError):
                while taken < len(data):
                    taken += os.write(pipe, data[taken:taken + 65536])
                    turns = 0
            turns = turns + 1 if self.unsent_bytes(address) > 0 else 0
            return turns > 20
        harness.wait_until(stay_full, "a connection and a pipe that stay full")
        return taken

    @staticmethod
    def bytes_in(pipe: int) -> int:
        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)

    @staticmethod
    def unsent_bytes(address: str) -> int:
        """Bytes in the kernel's send queues of connections with that port."""
        lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        port = f":{int(address.split(':')[1]):04X}"
        return sum(int(fields[4].split(":")[0], 16) for fields in lines
                   if fields[3] == "01" and (fields[1] + fields[2]).count(port))

    def test_stopped_for_longer_than_the_timeout(self):
        """A stopped process only counts as slow. A peer is lost when it does not answer at all."""
        part, copy = os.urandom(50_000), self.file("copy")
        for transport in ("local", "tcp"):
            with self.subTest(transport):
                receiver = self.receiver(copy, "--timeout", "1s")
                sender = self.sender(receiver.address, "--transport", transport, "--limit", "2M", "--timeout", "1s",
                                     *SMALL, stdin=subprocess.PIPE)
                with self.kept_fed(sender, part) as parts:
                    harness.wait_until(lambda: copy.exists() and copy.stat().st_size > 0, "the first bytes")
                    for stopped, other in ((receiver, sender), (sender, receiver)):
                        stopped.pause()
                        with self.assertRaises(AssertionError):
                            other.wait_line("lost the", 2)
                        stopped.go_on()
                self.ends(sender)
                self.ends(receiver)
                self.assertTrue(copy.read_bytes() == part * len(parts))
                copy.unlink()

    @staticmethod
    @contextlib.contextmanager
    def kept_fed(sender, part: bytes):
        """A thread writes `part` to the sender's standard input, again and again until the caller has done its work.
        It adds an element to the list that the caller is given for each time."""
        parts: list[None] = []
        is_over = threading.Event()

        def write():
            with sender.process.stdin as source:
                while not is_over.is_set():
                    source.write(part)
                    parts.append(None)
        writing = threading.Thread(target=write)
        writing.start()
        try:
            yield parts
        finally:
            is_over.set()
            writing.join(harness.WATCHDOG_S)


if __name__ == "__main__":
    harness.main()
