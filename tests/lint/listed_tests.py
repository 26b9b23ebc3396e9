#!/usr/bin/env python3
"""Checks that every test runs: CMake must name each test file, and must not skip missing ones by a condition."""
import pathlib
import re
import sys

import repository

# Test programs, which ctest starts by their full names. framewire_e2e(NAME) adds NAME_test.py.
IS_TEST = re.compile(r"(.+)_test\.(cpp|py)")


def names_in(text: str) -> set[str]:
    return set(re.findall(r"[\w.]+", re.sub(r"(?m)#.*$", "", text)))


def findings_in(files: dict[pathlib.PurePath, str]) -> list[str]:
    """`files`: the files in tests/, with the text of CMake's."""
    findings = []
    named = {}
    for path, text in files.items():
        if path.name == "CMakeLists.txt" or path.suffix == ".cmake":
            named.setdefault(path.parent, set()).update(names_in(text))
            if re.search(r"\bEXISTS\b", text):
                findings.append(f"{path}: asks whether a file EXISTS, and drops its tests silently if it does not")
    for path in files:
        match = IS_TEST.fullmatch(path.name)
        if match and not {path.name, match.group(1)} & named.get(path.parent, set()):
            findings.append(f"{path}: is named by no CMakeLists.txt beside it, so that nobody runs it")
    return findings


def main() -> int:
    top = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else repository.root()
    files = {path: (top / path).read_text(encoding="utf-8") if path.suffix in {".txt", ".cmake"} else ""
             for path in repository.files(top) if path.parts[0] == "tests"}
    return repository.report(findings_in(files), "listed tests")


if __name__ == "__main__":
    sys.exit(main())
