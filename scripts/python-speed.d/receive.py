#!/usr/bin/env python3
"""For scripts/python-speed: receive.py times|pixels FRAMES SENDER"""
import itertools
import pathlib
import re
import select
import statistics
import subprocess
import sys
import threading
import time

import framewire

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "python"))
import stamps  # noqa: E402

WIDTH, HEIGHT = 3840, 2160
MOST_MEDIAN_US = 20


def start_sender(program, frames):
    """framewire-send, and the port that it listens on."""
    sender = subprocess.Popen([program, "pattern:stamped", "--size", f"{WIDTH}x{HEIGHT}", "--pix-fmt", "rgba",
                               "--frames", str(frames), "--delivery", "every", "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True)
    line = next(line for line in sender.stderr if line.startswith("listening on"))
    threading.Thread(target=lambda: list(sender.stderr), daemon=True).start()
    return sender, int(re.search(r":(\d+)", line).group(1))


def times(receiver):
    """Takes every frame once it is there, and touches no pixel. True: fast enough."""
    clock = time.perf_counter_ns
    taken_ns = {"plane": [], "memoryview of its plane": [], "NumPy's array of its plane": []}
    for number, what in enumerate(itertools.cycle(taken_ns)):
        began = clock()
        try:
            frame = receiver.acquire(0)
            while frame is None:
                wait(receiver)
                began = clock()  # the wait for the sender is not measured
                frame = receiver.acquire(0)
        except framewire.EndOfStream:
            break
        view = frame.planes[0]
        if number % 3 == 1:
            view = memoryview(view)
        elif number % 3 == 2:
            view = view.numpy()
        del view
        frame.release()
        ended = clock()
        taken_ns[what].append(ended - began)
    for what, each in taken_ns.items():
        print(f"times: {len(each)} frames; acquire, {what}, release: median {statistics.median(each) / 1000:.1f} us, "
              f"99% {statistics.quantiles(each, n=100)[98] / 1000:.1f} us")
    return statistics.median(taken_ns["plane"]) <= MOST_MEDIAN_US * 1000


def wait(receiver):
    if receiver.next_event() is None:
        select.select([receiver], [], [])


def pixels(receiver):
    """Checks every pixel. True: all are whole."""
    torn = received = 0
    for frame in receiver:
        with frame:
            received += 1
            torn += not stamps.is_whole(frame)
    counts = receiver.counts()
    print(f"pixels: {received} frames received, {torn} torn, {counts.frames_skipped} skipped, {counts.frames_lost} "
          f"lost, {counts.bytes_received} bytes, {framewire.copies()} copies")
    return torn == 0


def main():
    mode, frames, program = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    sender, port = start_sender(program, frames)
    try:
        with framewire.receive(f"127.0.0.1:{port}", delivery="every") as receiver:
            good = {"times": times, "pixels": pixels}[mode](receiver)
            counts = receiver.counts()
        add_up = (counts.frames_received, counts.frames_skipped, counts.frames_lost, counts.bytes_received) == (
            frames, 0, 0, frames * WIDTH * HEIGHT * 4)
        if not add_up:
            print(f"{mode}: the counts do not add up: {counts}")
        return 0 if good and add_up and sender.wait(30) == 0 else 1
    finally:
        sender.kill()


if __name__ == "__main__":
    sys.exit(main())
