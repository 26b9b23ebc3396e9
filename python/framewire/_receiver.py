"""Receivers."""
from __future__ import annotations

import dataclasses
import os
import typing
from collections.abc import AsyncIterator

from framewire import _framewire
from framewire._closing import close_at_exit
from framewire._events import Endpoint, Event
from framewire._framewire import EndOfStream, Frame
from framewire._options import OF_RECEIVER, Option, check_names, option_pairs
from framewire._records import ReceiverCounts


class Receiver(_framewire.Receiver, Endpoint):
    """The frames of one stream: `for frame in receiver`, or `async for`.

    A loop ends with the stream, and when wake() is called. With delivery "latest", the default, a program that is
    slower than the sender misses frames. Each frame that is held takes one of the sender's slots.
    """

    def __init__(self, source: str | None = None, **options: Option) -> None:
        """`source` is HOST[:PORT][/STREAM] of a sender that listens. None: the receiver listens (option listen).

        Options are those of framewire view, with underscores: listen, transport, key, insecure, encrypt, timeout, tos,
        rdma_address, no_relaxed_ordering, delivery, retry, spin; and reconnect (True) and read ("thread" or "caller").
        """
        check_names(options, OF_RECEIVER)
        Endpoint.__init__(self, takes_events=True)
        self._messages_dropped = 0
        super().__init__(source, option_pairs(options))
        close_at_exit(self)

    def close(self) -> None:
        """Ends the session. Frames that are held stay valid and unchanged."""
        super().close()
        self._end_waits()

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def __aenter__(self) -> Receiver:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    async def acquire_async(self) -> Frame | None:
        """The next frame, for asyncio. None: wake() was called. Raises as acquire()."""
        return await self._until_woken(self._take_frame)

    async def __aiter__(self) -> AsyncIterator[Frame]:
        while True:
            try:
                frame = await self.acquire_async()
            except EndOfStream:
                return
            if frame is None:
                return
            yield frame
            del frame  # else it would be held while the next one is awaited

    def counts(self) -> ReceiverCounts:
        """ReceiverCounts."""
        counts = super().counts()
        return counts._replace(messages_dropped=counts.messages_dropped + self._messages_dropped)

    def _has_room(self) -> bool:
        return True

    def _keep(self, event: Event) -> None:
        """A receiver's events are messages and states. The newest are kept, as in the library."""
        if not super()._has_room():
            self._messages_dropped += self._kept_events.popleft().type == "message"
        super()._keep(event)

    def send_event(self, event: Event) -> bool:
        """Sends input to the stream's source, as a viewer does. False: there is no session.

        Raises RefusedError: the source takes no input, or another viewer has it.
        """
        fields = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)
                  if field.name == "type" or getattr(event, field.name) != field.default}
        return self._give_event(fields)


def receive(source: str | None = None, **options: Option) -> Receiver:
    """Receives a stream: `for frame in framewire.receive("big/camera")`. Arguments as for Receiver."""
    return Receiver(source, **options)
