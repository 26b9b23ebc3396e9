#!/usr/bin/env python3
"""Checks that every header compiles on its own. Arguments: the build folder, the compiler and further options for it.

The build already checks a header that its own source includes first; the others are compiled here."""
import pathlib
import re
import sys

import checked
import repository

FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def is_shown_by_build(top: pathlib.Path, header: pathlib.Path) -> bool:
    source = top / header.with_suffix(".cpp")
    first = FIRST_INCLUDE.search(source.read_text(encoding="utf-8")) if source.is_file() else None
    return first is not None and first.group(1) in (header.as_posix(), header.name)


def main() -> int:
    top = repository.root()
    build = pathlib.Path(sys.argv[1]).resolve()
    headers = [path.as_posix() for path in repository.files(top, {".hpp"}) if not is_shown_by_build(top, path)]
    command = [sys.argv[2], "-std=c++20", "-fsyntax-only", f"-I{top}", f"-I{build}/glad/include", *sys.argv[3:]]
    commands = {name: [*command, "-include", name, "-x", "c++", "/dev/null"] for name in headers}
    findings = checked.run_all(top, build / "lint", commands, "")
    print(f"headers alone: {len(headers)} headers compiled")
    return repository.report(findings, "headers alone")


if __name__ == "__main__":
    sys.exit(main())
