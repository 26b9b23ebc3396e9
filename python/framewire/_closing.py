"""Closes what is open when Python ends: the library's threads then end before the process does."""
import atexit
import typing
import weakref


class Closable(typing.Protocol):
    def close(self) -> None: ...


_open: "weakref.WeakSet[Closable]" = weakref.WeakSet()


def close_at_exit(what: Closable) -> None:
    _open.add(what)


@atexit.register
def _close_all() -> None:
    for what in list(_open):
        what.close()
