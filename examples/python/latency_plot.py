#!/usr/bin/env python3
"""Measures how long frames take from complete at the sender to received, and plots it: latency_plot.py big/camera"""
import argparse
import statistics
import sys

import framewire
import matplotlib

matplotlib.use("Agg")  # draws without a display
import matplotlib.pyplot as plt  # noqa: E402


def frame_count(text):
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"it is {count}, and takes 1 or more")
    return count


def latencies_us(source, count):
    found = []
    with framewire.receive(source) as receiver:
        for frame in receiver:
            with frame:
                offset_ns, _ = receiver.clock_offset()
                found.append((frame.received_ns - (frame.completed_ns - offset_ns)) / 1000)
            if len(found) == count:
                break
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="HOST[:PORT][/STREAM]")
    parser.add_argument("--frames", type=frame_count, metavar="N", default=500, help="default %(default)s")
    parser.add_argument("--png", metavar="FILE", default="latency.png", help="default %(default)s")
    arguments = parser.parse_args()
    latencies = latencies_us(arguments.source, arguments.frames)
    if not latencies:
        sys.exit("latency_plot.py: the stream ended without a frame")
    plt.plot(latencies, linewidth=0.8)
    plt.title(f"{arguments.source}: {len(latencies)} frames, median {statistics.median(latencies):.1f} us")
    plt.xlabel("frame")
    plt.ylabel("latency (us)")
    plt.savefig(arguments.png, dpi=100)


if __name__ == "__main__":
    try:
        main()
    except (framewire.Error, KeyboardInterrupt) as error:
        sys.exit(f"latency_plot.py: {error}")
