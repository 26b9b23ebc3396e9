"""Senders and their streams."""
from __future__ import annotations

import asyncio
import fractions
import operator
import threading
import typing
import weakref
from collections.abc import AsyncIterator

from framewire import _framewire
from framewire._closing import close_at_exit
from framewire._events import Endpoint
from framewire._framewire import EndOfStream, Slot
from framewire._options import OF_SENDER, OF_STREAM, Option, check_names, option_pairs

Size = typing.Union[tuple[int, int], int]
Rate = typing.Union[int, float, fractions.Fraction, tuple[int, int], None]
# A loop over slots holds the last slot, and maybe an array of it, when it claims the next one.
_KEPT_SLOTS = 2
_DRAIN_S = 5


class Stream(_framewire.Stream, Endpoint):
    """The frames of one source: `for slot in stream`, or `async for`. Sender.add_stream() and send() make it.

    A loop ends with the stream, and when wake() is called.
    """
    sender: Sender
    _owns_sender: bool

    def __init__(self, sender: Sender, name: str, options: dict[str, Option], owns_sender: bool = False) -> None:
        Endpoint.__init__(self, takes_events=False)
        super().__init__(sender, name, option_pairs(options))
        self.sender = sender
        self._owns_sender = owns_sender
        sender._streams.add(self)

    def begin(self, size: Size, format: str = "rgba", *, frame_rate: Rate = None, kept_slots: int = _KEPT_SLOTS,
              **details: typing.Any) -> int:
        """Begins an epoch: frames have this format from now on. Returns its number, from 1.

        `size` is (width, height), or a number of bytes for the format "bytes". `kept_slots` is how many slots this
        program holds beside the one that it fills. Details: sample_aspect=(1, 1), and the numbers of Format:
        colour_matrix, colour_range, colour_transfer, colour_primaries, chroma_location, alpha_mode, field_order.
        """
        width, height = _width_and_height(size, format)
        return self._begin(format, width, height, kept_slots=kept_slots, frame_rate=_ratio(frame_rate), **details)

    def close(self) -> None:
        """Ends the sender of send() at once. A stream of add_stream() ends with its Sender."""
        if self._owns_sender:
            self.sender.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, exception_type: type[BaseException] | None, *exception: object) -> None:
        """If no exception ends the block, waits up to 5 s until every viewer has got its last frame."""
        if self._owns_sender:
            self.sender.__exit__(exception_type, *exception)

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, exception_type: type[BaseException] | None, *exception: object) -> None:
        """As the end of `with`; the event loop goes on meanwhile."""
        if self._owns_sender:
            await self.sender.__aexit__(exception_type, *exception)

    async def claim_async(self) -> Slot | None:
        """A slot to fill, for asyncio. None: wake() was called. Raises as claim()."""
        return await self._until_woken(self._take_slot)

    async def __aiter__(self) -> AsyncIterator[Slot]:
        while True:
            try:
                slot = await self.claim_async()
            except EndOfStream:
                return
            if slot is None:
                return
            yield slot
            del slot


class Sender(_framewire.Sender):
    """One port, or one dialled viewer, and the streams that it offers:

        with framewire.Sender(listen="*:5290") as sender:  # all addresses, which needs a key
            left = sender.add_stream("left", (1920, 1080))
            right = sender.add_stream("right", (1920, 1080))
            sender.start()
    """

    def __init__(self, **options: Option) -> None:
        """Options are those of framewire send, with underscores: listen, to, transport, key, insecure, encrypt,
        timeout, tos, rdma_address."""
        check_names(options, OF_SENDER)
        super().__init__(option_pairs(options))
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._is_started = False
        close_at_exit(self)

    def add_stream(self, name: str, size: Size | None = None, format: str = "rgba", **options: typing.Any) -> Stream:
        """Adds a stream, before start(), and begins it if the size is given; else call its begin().

        Options: delivery, slots, viewers, frames, duration, spin; others as for Stream.begin().
        """
        of_stream = _take(options, OF_STREAM)
        if size is None and options:
            raise TypeError(f"a stream without a size has no option {', '.join(options)}")
        stream = Stream(self, name, of_stream)
        if size is not None:
            stream.begin(size, format, **options)
        return stream

    def start(self) -> None:
        """Listens, or dials: viewers may come from now on. Raises FailedError if the port is in use."""
        super().start()
        self._is_started = True

    def drain(self, timeout: float | None = None) -> bool:
        """Finishes all streams, and waits until every viewer has got its last frame. Ctrl-C cuts the viewers, which
        takes up to a second.

        False: the timeout has passed, and the viewers that were left were cut. The sender can then only be closed.
        """
        result: list[bool | BaseException] = []
        thread = threading.Thread(target=self._drain_into, args=(result, timeout), daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.05)
        except BaseException:
            self.close()
            raise
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0]

    def _drain_into(self, result: list[bool | BaseException], timeout: float | None) -> None:
        try:
            result.append(self._drain(timeout))
        except BaseException as error:
            result.append(error)

    async def drain_async(self, timeout: float | None = None) -> bool:
        """As drain(), for asyncio: on a thread, so that the event loop goes on. If it is cancelled, the viewers are cut
        at once."""
        try:
            return await asyncio.get_running_loop().run_in_executor(None, self._drain, timeout)
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        """Ends the sender and its streams at once."""
        super().close()
        for stream in list(self._streams):
            stream._end_waits()

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, exception_type: type[BaseException] | None, *exception: object) -> None:
        """If no exception ends the block, waits up to 5 s until every viewer has got its last frame."""
        try:
            if exception_type is None and self._is_started and not self.closed:
                self.drain(_DRAIN_S)
        finally:
            self.close()

    async def __aenter__(self) -> Sender:
        return self

    async def __aexit__(self, exception_type: type[BaseException] | None, *exception: object) -> None:
        """As the end of `with`; the event loop goes on meanwhile."""
        try:
            if exception_type is None and self._is_started and not self.closed:
                await self.drain_async(_DRAIN_S)
        finally:
            self.close()


def send(name: str, size: Size, format: str = "rgba", *, frame_rate: Rate = None, kept_slots: int = _KEPT_SLOTS,
         **options: Option) -> Stream:
    """Sends one stream: `with framewire.send("render", (1920, 1080), "rgba") as stream`.

    Options are those of Sender and of Sender.add_stream(). Viewers may come from now on.
    """
    check_names(options, [*OF_SENDER, *OF_STREAM])
    of_stream = _take(options, OF_STREAM)
    sender = Sender(**options)
    try:
        stream = Stream(sender, name, of_stream, owns_sender=True)
        stream.begin(size, format, frame_rate=frame_rate, kept_slots=kept_slots)
        sender.start()
    except BaseException:
        sender.close()
        raise
    return stream


def _take(options: dict[str, typing.Any], names: list[str]) -> dict[str, typing.Any]:
    """Takes these options out of the others."""
    return {name: options.pop(name) for name in names if name in options}


def _width_and_height(size: Size, format: str) -> tuple[int, int]:
    if format == "bytes" and not isinstance(size, (bool, tuple)):
        return (operator.index(size), 1)
    if not isinstance(size, tuple) or len(size) != 2 or any(isinstance(number, bool) for number in size):
        kind = "a number of bytes" if format == "bytes" else "(width, height)"
        raise TypeError(f"the size of the format {format} is {kind}; it is {size!r}")
    return size


def _ratio(rate: Rate) -> tuple[int, int]:
    if rate is None:
        return (0, 1)
    if isinstance(rate, tuple):
        return rate
    fraction = fractions.Fraction(rate).limit_denominator(1001)
    return (fraction.numerator, fraction.denominator)
