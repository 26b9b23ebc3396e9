"""framewire: uncompressed frames between programs, on one machine without a copy, and between machines.

    for frame in framewire.receive("big/camera"):
        picture = frame.numpy()                   # the frame itself, read-only, without a copy

    with framewire.send("render", (1920, 1080), "rgba") as stream:
        for slot in stream:                       # when a viewer watches and there is room
            slot.numpy()[:] = ...                 # fills the frame where viewers will read it
            slot.publish()

A frame goes back to its sender when it is released and no array of it is left. docs/python.md says more.
"""
from framewire._events import Event
from framewire._framewire import (AllHeldError, ArgumentError, EndOfStream, Error, FailedError, ForkedError, Frame,
                                  InternalError, LostError, OutOfMemoryError, Plane, RefusedError, Slot, StateError,
                                  UnsupportedError, copies, pixel_formats)
from framewire._framewire import version as __version__
from framewire._receiver import Receiver, receive
from framewire._records import Format, ReceiverCounts, StreamCounts
from framewire._sender import Sender, Stream, send

__all__ = ["AllHeldError", "ArgumentError", "EndOfStream", "Error", "Event", "FailedError", "ForkedError", "Format",
           "Frame", "InternalError", "LostError", "OutOfMemoryError", "Plane", "Receiver", "ReceiverCounts",
           "RefusedError", "Sender", "Slot", "StateError", "Stream", "StreamCounts", "UnsupportedError", "copies",
           "pixel_formats", "receive", "send"]
