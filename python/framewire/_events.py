"""Events, and what receivers and streams have in common: events, messages and asyncio."""
from __future__ import annotations

import asyncio
import collections
import dataclasses
import json
import os
import typing
from collections.abc import AsyncIterator, Callable

from framewire._framewire import ArgumentError, StateError

_Item = typing.TypeVar("_Item")
# How long a coroutine waits if the descriptor stays readable for what others have not taken yet.
_POLL_INTERVAL_S = 0.002
# So many events are kept for next_event() while coroutines wait for frames.
_MOST_KEPT_EVENTS = 256


@dataclasses.dataclass(frozen=True)
class Event:
    """What happened at the other end. Fields that its type does not name are 0 or empty.

    message   of the other end's program: `message`; at a stream viewer_number
    state     of a receiver: state ("connected" and so on) and text, a line about it
    key       usage, keysym, pressed, repeated, modifiers
    text      text: characters that were written
    pointer   x, y, dx, dy, locked: then x and y mean nothing
    button    button, pressed, x, y, modifiers
    wheel     dx, dy, x, y, modifiers
    gamepad   number, pressed (it is connected), axes, buttons
    size      width, height: so many pixels of the viewer's screen the frame fills
    focus     pressed: input begins, or ends
    """
    type: str
    text: str = ""
    state: str = ""
    viewer_number: int = 0
    viewer: str = ""
    epoch: int = 0
    time_ns: int = 0
    pressed: bool = False
    repeated: bool = False
    locked: bool = False
    usage: int = 0
    keysym: int = 0
    modifiers: int = 0
    button: int = 0
    x: float = 0
    y: float = 0
    dx: float = 0
    dy: float = 0
    width: int = 0
    height: int = 0
    number: int = 0
    buttons: int = 0
    axes: tuple[float, ...] = (0,) * 6

    @property
    def message(self) -> dict[str, typing.Any]:
        """The JSON object of a message."""
        message: dict[str, typing.Any] = json.loads(self.text)
        return message


class Endpoint:
    """The part of Receiver and Stream that is written in Python."""
    _waiting: set[asyncio.Future[None]]
    _loop: asyncio.AbstractEventLoop  # of the coroutines that wait
    _descriptor: int | None = None  # that it reads
    _kept_events: collections.deque[Event]
    # Whether next_event() may be called although the program does not: to a stream's viewers it says that the program
    # takes input.
    _takes_events: bool

    def __init__(self, takes_events: bool) -> None:
        self._waiting = set()
        self._kept_events = collections.deque()
        self._takes_events = takes_events

    # Of the classes in C.
    fileno: Callable[[], int]
    _take_event: Callable[[], typing.Optional[dict[str, typing.Any]]]
    _send_json: Callable[[str], bool]
    _begin_wait: Callable[[], None]
    _end_wait: Callable[[], None]

    def next_event(self) -> Event | None:
        """The next event, or None. It never waits. Before the first call a stream's viewers send neither messages nor
        input."""
        self._takes_events = True
        if self._kept_events:
            return self._kept_events.popleft()
        fields = self._take_event()
        return None if fields is None else Event(**fields)

    async def events(self) -> AsyncIterator[Event]:
        """The events, without an end: `async for event in receiver.events()`."""
        while True:
            event = await self._until(self.next_event)
            assert event is not None
            yield event

    def send(self, message: dict[str, typing.Any] | str) -> bool:
        """Sends a JSON object to the program at the other end; of a stream to all viewers. It never waits.

        False: there is nobody, or too many messages wait already.
        """
        text = message if isinstance(message, str) else json.dumps(message)
        if "\0" in text:
            raise ArgumentError("the message has a character U+0000, which JSON writes as \\u0000")
        return self._send_json(text)

    async def _until(self, take: Callable[[], _Item | typing.Literal[False] | None]) -> _Item | None:
        """The first item that `take` returns; None if it returns False. It does not block the event loop."""
        empty_turns = 0
        while True:
            item = take()
            if item is False:
                return None
            if item is not None:
                return item
            if self._keep_events():
                await asyncio.sleep(0)
                continue
            empty_turns += 1
            if empty_turns > 2 and empty_turns % 2 == 1:  # readable for what another coroutine has not taken yet
                await asyncio.sleep(_POLL_INTERVAL_S)
                continue  # after the end the descriptor is readable until one coroutine has been told
            await self._until_readable()

    async def _until_woken(self, take: Callable[[], _Item | typing.Literal[False] | None]) -> _Item | None:
        """As _until(), for waits that wake() ends. It counts them, so that several calls in a row end one each."""
        self._begin_wait()
        try:
            return await self._until(take)
        finally:  # also if it is cancelled
            self._end_wait()

    def _keep_events(self) -> bool:
        """Takes events out of the library, in which they would keep the descriptor readable. True: there were some."""
        is_new = False
        while self._takes_events and self._has_room() and (fields := self._take_event()) is not None:
            self._keep(Event(**fields))
            is_new = True
        if is_new:
            self._resume()
        return is_new

    def _has_room(self) -> bool:
        """For one more event. False: others wait in the library, which never drops a release and counts its drops."""
        return len(self._kept_events) < _MOST_KEPT_EVENTS

    def _keep(self, event: Event) -> None:
        self._kept_events.append(event)

    async def _until_readable(self) -> None:
        loop = asyncio.get_running_loop()
        if self._waiting and self._loop is not loop:
            raise StateError("coroutines of two event loops wait for the same object")
        if not self._waiting:
            self._begin_reading(loop)
        future = loop.create_future()
        self._waiting.add(future)
        try:
            self.fileno()  # raises if another thread has closed it meanwhile, which does not know of this wait
            await future
        finally:
            self._waiting.discard(future)
            if not self._waiting:
                self._stop_reading()

    def _begin_reading(self, loop: asyncio.AbstractEventLoop) -> None:
        """Registers a duplicate of the descriptor: any thread may close the library's one, also while no loop runs."""
        try:
            descriptor = os.dup(self.fileno())
        except OSError:
            self.fileno()  # raises if it was closed
            raise
        try:
            loop.add_reader(descriptor, self._resume)
        except BaseException:
            os.close(descriptor)
            self.fileno()
            raise
        self._loop = loop
        self._descriptor = descriptor

    def _stop_reading(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

    def _resume(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def _end_waits(self) -> None:
        """Any thread calls it after the end: lets coroutines that wait find out."""
        if self._waiting:
            try:
                self._loop.call_soon_threadsafe(self._resume)
            except RuntimeError:  # the loop was closed: nobody waits any more
                self._waiting.clear()
                self._stop_reading()
