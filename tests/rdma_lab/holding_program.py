"""A program of the C library that forks while it holds slots or frames, for c_library_test.py.

    holding_program.py receive SOURCE    holds as many frames as it may
    holding_program.py send ADDRESS      holds a slot that it has published, and one that it has claimed

It says what it does in lines on its standard output, and takes a step for each line on its standard input. Its child
uses the handles, which must be dead, reads the frames, and lives until it is killed.
"""
import ctypes
import os
import signal
import sys

from c_interface import CInterface, FW_ERROR_ALL_HELD, FW_ERROR_FORKED, FW_OK, TIMEOUT_NS, ViewStart, picture_of


def say(*words):
    print(*words, flush=True)


def fork(check):
    """The child says whether `check` finds what it must, and stays."""
    child = os.fork()
    if child == 0:
        try:
            check()
            say("child is right")
        except BaseException as error:  # it must not go on as the parent
            say("child:", repr(error))
        while True:
            signal.pause()
    say("forked", child)


def must_be_forked(result: int):
    if result != FW_ERROR_FORKED:
        raise AssertionError(f"a handle of the parent returned {result}")


def receive(interface: CInterface, source: str):
    receiver = interface.receiver(source, timeout="60s")
    frames = [interface.acquire(receiver)]
    frame = ctypes.c_void_p()
    timeout = ctypes.c_int64(TIMEOUT_NS)
    while interface.result("fw_receiver_acquire", receiver, timeout, ctypes.byref(frame)) == FW_OK:
        frames.append(ctypes.c_void_p(frame.value))
    views = [interface.filled("fw_frame_view", one, ViewStart) for one in frames]
    result = interface.result("fw_receiver_acquire", receiver, timeout, ctypes.byref(frame))
    say("holds", len(frames), "all" if result == FW_ERROR_ALL_HELD else result)

    def check():
        none = ctypes.c_void_p()
        must_be_forked(interface.result("fw_receiver_acquire", receiver, timeout, ctypes.byref(none)))
        for value, (one, view) in enumerate(zip(frames, views)):
            must_be_forked(interface.result("fw_frame_check", one))
            if view.bytes() != picture_of(value):
                raise AssertionError(f"frame {value} is not whole")
            interface.library.fw_frame_unref(one)
        interface.library.fw_receiver_destroy(receiver)
    fork(check)
    sys.stdin.readline()
    for value, one in enumerate(frames):
        if interface.bytes_of(one) != picture_of(value):
            raise AssertionError(f"frame {value} has changed")
        interface.library.fw_frame_unref(one)
    for value in range(len(frames), len(frames) + 20):
        one = interface.acquire(receiver)
        if interface.bytes_of(one) != picture_of(value):
            raise AssertionError(f"frame {value} is not whole")
        interface.library.fw_frame_unref(one)
    say("went on")
    sys.stdin.readline()
    interface.library.fw_receiver_destroy(receiver)


def send(interface: CInterface, address: str):
    sender, stream, port = interface.sender(address, timeout="60s")
    say("port", port)
    kept = interface.claim(stream)
    interface.publish(kept, 0)
    claimed = interface.claim(stream)

    def check():
        none = ctypes.c_void_p()
        must_be_forked(interface.result("fw_stream_claim", stream, ctypes.c_int64(0), 0, ctypes.byref(none)))
        must_be_forked(interface.result("fw_slot_publish", claimed, None))
        for one in (kept, claimed):
            interface.library.fw_slot_unref(one)
        interface.library.fw_sender_destroy(sender)
    fork(check)
    sys.stdin.readline()
    interface.publish(claimed, 1)
    for one in (kept, claimed):
        interface.library.fw_slot_unref(one)
    for value in range(2, 20):
        interface.send(stream, value)
    say("went on")
    sys.stdin.readline()
    interface.library.fw_sender_destroy(sender)


if __name__ == "__main__":
    {"receive": receive, "send": send}[sys.argv[1]](CInterface(), sys.argv[2])
