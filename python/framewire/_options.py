"""Options as keyword arguments."""
import os
import typing
from collections.abc import Mapping

from framewire._framewire import ArgumentError

Option = typing.Union[str, int, float, bool, os.PathLike, None]


_ENDPOINT = ["listen", "transport", "memory", "key", "insecure", "encrypt", "timeout", "tos", "rdma_address"]
OF_SENDER = [*_ENDPOINT, "to"]
OF_STREAM = ["delivery", "slots", "viewers", "frames", "duration", "spin"]
OF_RECEIVER = [*_ENDPOINT, "no_relaxed_ordering", "delivery", "retry", "spin", "reconnect", "read"]


def check_names(options: Mapping[str, object], known: list[str]) -> None:
    """The library would name its own options, with dashes, and only those of one handle."""
    for name in options:
        if name not in known:
            raise ArgumentError(f"there is no option {name!r} here; it takes {', '.join(known)}")


def option_pairs(options: Mapping[str, Option]) -> list[tuple[str, str]]:
    """The options as the programs have them: no_relaxed_ordering=True is ("no-relaxed-ordering", "yes").

    None leaves an option at its default.
    """
    return [(name.replace("_", "-"), _text(name, value)) for name, value in options.items() if value is not None]


def _text(name: str, value: Option) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise TypeError(f"option {name} is text, a number, a path, True or False; it is {value!r}")
