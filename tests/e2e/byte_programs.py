"""Starts rdsend and rdrecv for the tests, on this machine and over RDMA."""
import json
import os
import pathlib
import random
import typing

import harness

SEED = int(os.environ.get("FRAMEWIRE_SEED", random.randrange(1 << 32)))
SLOT_BYTES, SLOTS = 64 << 10, 4
SMALL = ("--slot-bytes", SLOT_BYTES, "--slots", SLOTS)
RING_BYTES = SLOT_BYTES * SLOTS


class BytePrograms(harness.EndToEnd):
    common = ()  # options of both programs: --transport, if all tests use the same

    def receiver(self, *arguments, listen="127.0.0.1:0", prefix=(), **options) -> harness.Program:
        """Starts a receiver on a port of its own choice: program.address."""
        program = self.start(*prefix, harness.BIN / "rdrecv", "-v", "--listen", listen, *self.common, *arguments,
                             "--stats", self.file("received.json"), **options)
        program.address = f"127.0.0.1:{program.wait_line(r'^waiting for a sender on .*?:([0-9]+)').group(1)}"
        return program

    def receiver_before_a_pipe(self) -> tuple[harness.Program, typing.BinaryIO]:
        """Starts a receiver, and returns the pipe that it writes to. While nobody reads, the pipe and the ring hold up
        the sender after little more than a MiB."""
        reads, writes = os.pipe()
        sink = os.fdopen(reads, "rb", buffering=0)
        self.addCleanup(sink.close)
        receiver = self.receiver(stdout=writes)
        os.close(writes)
        return receiver, sink

    def sender(self, *arguments, prefix=(), **options) -> harness.Program:
        return self.start(*prefix, harness.BIN / "rdsend", *self.common, *arguments, "--stats", self.file("sent.json"),
                          **options)

    def both(self, copy: pathlib.Path, *of_sender, is_sender_waiting=False,
             **options) -> tuple[harness.Program, harness.Program]:
        """Starts a receiver that writes `copy`, and its sender; one listens and the other dials."""
        if not is_sender_waiting:
            receiver = self.receiver(copy)
            return receiver, self.sender(receiver.address, *of_sender, **options)
        sender = self.sender("-v", "--listen", "127.0.0.1:0", *of_sender, **options)
        sender.address = f"127.0.0.1:{sender.wait_line('^listening on .*:([0-9]+)').group(1)}"
        return self.start(harness.BIN / "rdrecv", "--from", sender.address, *self.common, copy,
                          "--stats", self.file("received.json")), sender

    def said(self, name: str) -> dict:
        return self.read_stats(self.file(name))

    def data(self, size: int) -> pathlib.Path:
        path = self.file(f"data-{size}")
        path.write_bytes(os.urandom(size))
        return path

    def check_copy(self, original: pathlib.Path, transport: str, *options, is_by_itself=False) -> dict:
        """`is_by_itself`: the programs choose `transport` without --transport."""
        copy = self.file("copy")
        receiver = self.receiver(copy)
        wanted = () if self.common or is_by_itself else ("--transport", transport)
        sender = self.sender(receiver.address, original, *wanted, *options)
        self.ends(sender)
        self.ends(receiver)
        self.assertEqual(copy.stat().st_size, original.stat().st_size)
        self.assertTrue(copy.read_bytes() == original.read_bytes())
        sent, received = self.said("sent.json"), self.said("received.json")
        self.assertEqual((sent["bytes"], sent["bytes_written"], received["bytes"]), 3 * (original.stat().st_size,))
        self.assertEqual((sent["transport"], received["transport"], sent["digest"]),
                         (transport, transport, received["digest"]))
        return sent

    def check_survivor(self, survivor, other: str, whole: bytes, written: bytes):
        self.ends(survivor, harness.LOST)
        is_receiver = survivor.name == "rdrecv"
        self.one_message(survivor, f"(lost the {other}|the {other} ended)" + (" after" if written else ""),
                          *(("not complete",) if written and is_receiver else ()))
        self.assertTrue(whole.startswith(written))

    def check_killed(self, victim: str, moment: int, original, way: tuple, is_sender_waiting: bool):
        copy = self.file("copy")
        copy.unlink(missing_ok=True)
        receiver, sender = self.both(copy, original, *way, "--limit", "8M", *SMALL, is_sender_waiting=is_sender_waiting)
        ended, survivor = (sender, receiver) if victim == "sender" else (receiver, sender)
        harness.wait_until(lambda: not survivor.is_running() or (copy.exists() and copy.stat().st_size >= moment),
                           f"{moment} bytes", poll_interval_s=0.001)
        ended.kill()
        whole = original.read_bytes()
        if survivor.wait_end() == harness.OK:
            self.assertTrue(copy.read_bytes() == whole, "only what is whole is said to be")
            return False
        self.check_survivor(survivor, victim, whole, copy.read_bytes() if copy.exists() else b"")
        return True
