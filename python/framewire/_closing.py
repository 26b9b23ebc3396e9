"""Closes what is open when Python ends: the library's threads then end before the process does."""
import atexit
import contextlib
import typing
import weakref


class Closable(typing.Protocol):
    def close(self) -> None: ...


_open: "weakref.WeakSet[Closable]" = weakref.WeakSet()


def close_at_exit(what: Closable) -> None:
    _open.add(what)


@atexit.register
def _close_all() -> None:
    with contextlib.ExitStack() as stack:  # which also calls the others if one raises
        for what in list(_open):
            stack.callback(what.close)
