#!/usr/bin/env python3
"""Checks ARCHITECTURE.md's list of files to edit for a new pixel format: they are those that name the newest format."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Tests every format on its own, independently of the tested code. Other tests name formats only as examples.
TESTS_THAT_KNOW_EACH = {"tests/pixels/reference.cpp"}
# Folders without the repository's own text.
FOREIGN = {"build", ".git", "shared"}


def listed() -> set[str]:
    """The files in backquotes in the page's paragraph on pixel formats."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paragraph = re.search(r"To add a pixel format, touch(.*?)(\n\n|\Z)", page, re.S)
    return set(re.findall(r"`([\w/]+\.[ch]pp)`", paragraph.group(1))) if paragraph else set()


def naming(enumerator: str) -> set[str]:
    word = re.compile(rf"\b{enumerator}\b")
    found = set()
    for path in [*ROOT.rglob("*.cpp"), *ROOT.rglob("*.hpp")]:
        name = path.relative_to(ROOT)
        is_example = name.parts[0] == "tests" and str(name) not in TESTS_THAT_KNOW_EACH
        if name.parts[0] not in FOREIGN and not is_example and word.search(path.read_text(encoding="utf-8")):
            found.add(str(name))
    return found


def main() -> int:
    enumeration = re.search(r"enum class PixelFormat[^{]*{(.*?)}", (ROOT / "frame/pixel_format.hpp").read_text(encoding="utf-8"), re.S)
    newest = re.findall(r"^\s*(\w+) = \d+,", enumeration.group(1), re.M)[-1]
    expected, actual = listed(), naming(newest)
    if expected != actual:
        print(f"ARCHITECTURE.md lists for a new pixel format {sorted(expected)}; {newest} stands in {sorted(actual)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
