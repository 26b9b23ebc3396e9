#!/usr/bin/env python3
"""Checks ARCHITECTURE.md's list of files to edit for a new pixel format: they are those that name the newest format."""
import pathlib
import re
import sys

import repository

# Tests every format on its own, independently of the tested code. Other tests name formats only as examples.
TESTS_THAT_KNOW_EACH = {"tests/pixels/reference.cpp"}
# Listed, but touched only for formats that have a name there.
OPTIONAL = {"media/y4m.cpp"}
# A folder that may lie in a checkout without being the repository's own.
FOREIGN = "shared"


def listed(page: str) -> set[str]:
    """The files in backquotes in the page's paragraph on pixel formats."""
    paragraph = re.search(r"To add a pixel format, touch(.*?)(\n\n|\Z)", page, re.S)
    return set(re.findall(r"`([\w/]+\.[ch]pp)`", paragraph.group(1))) if paragraph else set()


def newest_format(header: str) -> str:
    """Of those that are pictures alone: one with depth is drawn, converted and written as its colours."""
    enumeration = re.search(r"enum class PixelFormat[^{]*{(.*?)}", header, re.S)
    return re.findall(r"^\s*(\w+) = \d+,(?!.*has_depth)", enumeration.group(1), re.M)[-1]


def naming(top: pathlib.Path, enumerator: str) -> set[str]:
    word = re.compile(rf"\b{enumerator}\b")
    found = set()
    for path in repository.files(top, repository.CODE):
        is_example = path.parts[0] == "tests" and str(path) not in TESTS_THAT_KNOW_EACH
        if path.parts[0] != FOREIGN and not is_example and word.search((top / path).read_text(encoding="utf-8")):
            found.add(str(path))
    return found


def findings_in(top: pathlib.Path) -> list[str]:
    newest = newest_format((top / "frame/pixel_format.hpp").read_text(encoding="utf-8"))
    expected = listed((top / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    actual = naming(top, newest)
    findings = [f"ARCHITECTURE.md does not list {path} for a new pixel format, and {newest} stands there"
                for path in sorted(actual - expected)]
    findings += [f"ARCHITECTURE.md lists {path} for a new pixel format, and {newest} does not stand there"
                 for path in sorted(expected - actual - OPTIONAL)]
    return findings


def main() -> int:
    return repository.report(findings_in(repository.root()), "pixel format places")


if __name__ == "__main__":
    sys.exit(main())
