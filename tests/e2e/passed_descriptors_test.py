"""Peers of the same user that pass wrong file descriptors over the Unix socket end their own session and no other."""
import array
import fcntl
import hashlib
import hmac
import os
import socket
import struct
import threading

import harness
from control_channel import hear, read_exactly, say

SESSION = bytes(range(16))
TOKEN = bytes(range(32))
LOCAL_LINK, INDEX = 1, 0
CELLS_BYTES = 256 * 512 + 128  # transport/local/shared_pages.hpp
ACKNOWLEDGEMENTS_BYTES = 256 * 8 + 128
SLOT_BYTES = 4096
PICTURE = {"pixel_format": "gray8", "width": 64, "height": 64, "size_bytes": SLOT_BYTES, "colour_matrix": 1,
           "colour_range": 1, "colour_transfer": 1, "colour_primaries": 1,
           "sample_aspect": [1, 1], "frame_rate": [30, 1]}
LOCAL_HELLO = b"FWLL" + struct.pack("<I", 2)


def proof(token: bytes, role: bytes, session: bytes) -> bytes:
    """docs/wire.md, data connections."""
    return hmac.new(token, b"framewire data 1" + role + session + bytes([INDEX]) + b"local", hashlib.sha256).digest()


def hear_until(connection: socket.socket, kind: str) -> dict:
    while (message := hear(connection))["type"] != kind:
        pass
    return message


def pass_on(connection: socket.socket, words: bytes, descriptors):
    connection.sendmsg([words], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))])


class PassedDescriptors(harness.EndToEnd):
    # ---- A sender that is not one ----

    def event(self) -> int:
        event = os.eventfd(0, os.EFD_CLOEXEC)
        self.addCleanup(os.close, event)
        return event

    def memory(self, size_bytes: int, has_holes: bool = False) -> int:
        """Sealed against a change of its size, and all of it there, as an honest sender's is."""
        memory = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, memory)
        if has_holes:
            os.ftruncate(memory, size_bytes)
        else:
            os.posix_fallocate(memory, 0, size_bytes)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        return memory

    def wake_socket(self) -> int:
        pair = socket.socketpair()
        for one in pair:
            self.addCleanup(one.close)
        return pair[0].fileno()

    def unix_socket(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(harness.WATCHDOG_S)
        self.addCleanup(connection.close)
        return connection

    def serve_hostile_sender(self, descriptors, pool) -> str:
        """Starts a sender that hands over these descriptors; then `pool`, if there is one. Returns its address."""
        listener = self.unix_socket()
        port = harness.free_port()
        listener.bind(f"\0framewire-{os.geteuid()}-{port}")
        listener.listen()

        def serve():
            with self.accept(listener) as control, self.accept_data(listener, control) as data:
                pass_on(data, LOCAL_HELLO, descriptors)
                if pool is not None:
                    say(control, type="epoch", number=1, slot_bytes=SLOT_BYTES, ring_slots=2, format=PICTURE)
                    pass_on(data, b"FWLP" + struct.pack("<IQQII", 1, SLOT_BYTES, SLOT_BYTES, 2, 0), [pool])
                while control.recv(4096):
                    pass

        def serve_until_it_hangs_up():
            try:
                serve()
            except OSError:
                pass

        serving = threading.Thread(target=serve_until_it_hangs_up)
        serving.start()
        self.addCleanup(serving.join)
        return f"127.0.0.1:{port}"

    def accept(self, listener: socket.socket) -> socket.socket:
        """The next connection, after its first eight bytes."""
        connection, _ = listener.accept()
        connection.settimeout(harness.WATCHDOG_S)
        self.greeting = read_exactly(connection, 8)
        return connection

    def accept_data(self, listener: socket.socket, control: socket.socket) -> socket.socket:
        """Does a sender's handshake up to the answer on the data connection."""
        read_exactly(control, 4)
        control.sendall(b"FWREPL01")
        say(control, type="accepted")
        say(control, type="hello", role="sender", program="hostile", versions=[1])
        say(control, type="offer", session=SESSION.hex(), links=["local2"],
            streams=[{"name": "trap", "number": 1, "delivery": "latest"}])
        hear_until(control, "choose")
        say(control, type="connect", token=TOKEN.hex())
        data = self.accept(listener)
        self.assertEqual(self.greeting, b"FWDATA01")
        read_exactly(data, 52)
        data.sendall(b"FWDATA01" + proof(TOKEN, b"l", SESSION))
        return data

    def test_senders_to_viewers(self):
        cells, acknowledgements = self.memory(CELLS_BYTES), self.memory(ACKNOWLEDGEMENTS_BYTES)
        wake = self.wake_socket()
        good = (cells, acknowledgements, wake)
        pool = self.memory(2 * SLOT_BYTES)
        no_memory = "the peer offered shared memory whose size is not sealed"
        something_else = "the sender handed over something else than its shared memory"
        attacks = {
            "an eventfd for the cells": ((self.event(), acknowledgements, wake), pool, no_memory),
            "an eventfd for the acknowledgements": ((cells, self.event(), wake), pool, no_memory),
            "an eventfd to be woken by": ((cells, acknowledgements, self.event()), pool,
                                          "something else than the socket"),
            "memory that is too short": ((self.memory(4096), acknowledgements, wake), pool,
                                         "shared memory of 4096 bytes where"),
            "too few": ((cells, acknowledgements), pool, something_else),
            "too many": ((*good, self.event()), pool, something_else),
            "an eventfd for the pool": (good, self.event(), no_memory),
            "a pool with holes": (good, self.memory(2 * SLOT_BYTES, has_holes=True), "not all of it is there"),
            "a pool that is too short": (good, self.memory(SLOT_BYTES), "shared memory of 4096 bytes where 8192"),
        }
        for name, (descriptors, memory, message) in attacks.items():
            with self.subTest(name):
                viewer = self.view(self.serve_hostile_sender(descriptors, memory), "--retry", "1ms")
                self.ends(viewer, harness.FAILED)
                self.one_message(viewer, message)
                self.assertEqual(self.stats(viewer)["frames_received"], 0)

    def test_an_honest_sender_of_this_test_is_taken(self):
        """So the refusals above have the causes that they name."""
        descriptors = (self.memory(CELLS_BYTES), self.memory(ACKNOWLEDGEMENTS_BYTES), self.wake_socket())
        address = self.serve_hostile_sender(descriptors, self.memory(2 * SLOT_BYTES))
        viewer = self.view(address, "--verbose", terminal=True)
        viewer.wait_line("transport=local")
        viewer.interrupt()
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])

    # ---- A viewer that is not one ----

    def join_as_viewer(self, port: int, with_greeting=(), with_hello=()) -> tuple[socket.socket, socket.socket]:
        """Does a viewer's handshake up to the shared memory; returns control and data connection."""
        def connect() -> socket.socket:
            connection = self.unix_socket()
            connection.connect(f"\0framewire-{os.geteuid()}-{port}")
            return connection

        control = connect()
        pass_on(control, b"FWCTRL01\r\n\r\n", with_greeting)
        self.assertEqual(read_exactly(control, 8), b"FWREPL01")
        say(control, type="hello", role="viewer", program="hostile", versions=[1])
        session = bytes.fromhex(hear_until(control, "offer")["session"])
        say(control, type="choose", stream=0, link="local2", delivery="latest")
        token = bytes.fromhex(hear_until(control, "connect")["token"])
        data = connect()
        hello = b"FWDATA01" + session + bytes([LOCAL_LINK, INDEX, 0, 0]) + proof(token, b"d", session)
        pass_on(data, hello, with_hello)
        self.assertEqual(read_exactly(data, 40), b"FWDATA01" + proof(token, b"l", session))
        words, descriptors, _, _ = socket.recv_fds(data, len(LOCAL_HELLO), 3)
        for descriptor in descriptors:
            self.addCleanup(os.close, descriptor)
        self.assertEqual((words, len(descriptors)), (LOCAL_HELLO, 3))
        return control, data

    def is_closed(self, connection: socket.socket) -> bool:
        try:
            while connection.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return True  # otherwise the time-out has failed the test

    def test_viewers_to_senders(self):
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "30")
        viewer = self.view(sender.address, "--transport", "local", terminal=True)
        viewer.wait_line("shown [1-9]")
        descriptors = sender.settled_descriptors()
        for number in range(3):
            said = len(sender.lines)
            events = [self.event()] * (1 + 100 * number)
            control, data = self.join_as_viewer(sender.port, with_greeting=events, with_hello=events)
            pass_on(data, LOCAL_HELLO, events)
            self.assertTrue(self.is_closed(data) and self.is_closed(control))
            sender.wait_line(r"^viewer this machine \(local\): the other end .* wrote where it has nothing to say",
                             after=said)
            descriptors = sender.wait_descriptors(descriptors)  # no passed descriptor stays open
        self.assertEqual(len([line for line in sender.lines if "nothing to say" in line]), 3)
        viewer.wait_line("shown [1-9]", after=len(viewer.lines))
        sender.interrupt()
        self.ends(sender)
        self.ends(viewer)
        shown = self.stats(viewer)
        self.assertEqual((shown["sessions"], shown["frames_lost"], shown["frames_torn"]), (1, 0, 0))
        self.assertEqual(len(self.stats(sender)["sessions"]), 4)


if __name__ == "__main__":
    harness.main()
