#!/usr/bin/env python3
"""Checks that clang-format changes no file in C++ or C, and that no line of Python or shell has more than 120 columns.

With --fix: formats the C++ and C files.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import repository

MAX_COLUMNS = 120
C = {".c", ".h"}
SCRIPTS = {".py", ".sh"}
SHEBANG = re.compile(r"#!.*\b(?:python3?|bash|sh)\b")
# A URL that stands alone on its line, maybe as a comment, cannot be broken.
URL = re.compile(r"\s*(?:#\s*)?\S*://\S*")


def is_script(path: pathlib.PurePath, text: str) -> bool:
    return path.suffix in SCRIPTS or SHEBANG.match(text) is not None


def long_lines(path: pathlib.PurePath, text: str) -> list[str]:
    """The findings in a Python or shell file; none in any other."""
    if not is_script(path, text):
        return []
    return [f"{path}:{number}: {len(line)} columns, more than {MAX_COLUMNS}"
            for number, line in enumerate(text.splitlines(), 1)
            if len(line) > MAX_COLUMNS and not URL.fullmatch(line)]


def all_long_lines(top: pathlib.Path) -> list[str]:
    files = [path for path in repository.files(top) if path.suffix in SCRIPTS | {""}]
    return [finding for path in files for finding in long_lines(path, (top / path).read_text(encoding="utf-8"))]


def main() -> int:
    program = shutil.which("clang-format-14")
    if program is None:
        print("clang-format-14 is not installed; scripts/setup --tests installs it")
        return 1
    top = repository.root()
    names = [path.as_posix() for path in repository.files(top, repository.CODE | C)]
    if "--fix" in sys.argv[1:]:
        return subprocess.run([program, "-i", *names], cwd=top, check=False).returncode
    done = subprocess.run([program, "--dry-run", *names], cwd=top, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stderr)
        return 1
    unlike = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
    findings = [f"{name}: tests/lint/format.py --fix formats it" for name in unlike]
    return repository.report(findings + all_long_lines(top), "format")


if __name__ == "__main__":
    sys.exit(main())
