#!/usr/bin/env python3
"""Inverts the colours of a stream with PyTorch, and sends the result as a stream: torch_filter.py big/camera

`framewire view localhost:5291` shows it.
"""
import argparse
import sys
import warnings

import framewire
import torch

# Frames are read-only: PyTorch warns of that, and a write to such a tensor would end the program.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


def invert(source, target):
    """From the frame that was received to the slot that is sent, without another copy."""
    torch.sub(255, source[..., :3], out=target[..., :3])
    target[..., 3:] = source[..., 3:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="HOST[:PORT][/STREAM] of a stream in rgba, bgra, rgb24 or bgr24")
    parser.add_argument("--listen", metavar="ADDRESS:PORT", default="127.0.0.1:5291", help="default %(default)s")
    arguments = parser.parse_args()
    with framewire.Sender(listen=arguments.listen) as sender, framewire.receive(arguments.source) as receiver:
        stream = sender.add_stream("inverted")
        sender.start()
        print(f"listening on port {sender.port}", flush=True)
        epoch = 0
        for frame in receiver:
            with frame:
                if frame.epoch != epoch:
                    epoch = frame.epoch
                    stream.begin((frame.width, frame.height), frame.pixel_format)
                slot = stream.claim(timeout=0)
                if slot is None:  # nobody watches, or the viewer is slow
                    stream.drop()
                    continue
                with slot:
                    invert(torch.from_numpy(frame.numpy()), torch.from_numpy(slot.numpy()))
                    slot.publish(pts_ns=frame.pts_ns, tag=frame.tag)


if __name__ == "__main__":
    try:
        main()
    except (framewire.Error, KeyboardInterrupt) as error:
        sys.exit(f"torch_filter.py: {error}")
