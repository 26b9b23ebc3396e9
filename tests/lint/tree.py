#!/usr/bin/env python3
"""Checks every file: short, self-contained, and only about the product."""
import os
import pathlib
import re
import sys

import repository

MOST_LINES = 500
MAX_COLUMNS = 120  # of prose; a table row cannot wrap
# References that a reader cannot follow: folders of one machine, numbers of another tracker.
FOREIGN_WORDS = re.compile(r"/[w]ork/|\.\./[s]hared\b|\b[i]ssues? #?\d+\b|\bsession (?:one|two|three)\b")
UNFINISHED = re.compile(r"\b(?:[T]ODO|[F]IXME|[X]XX)\b")
BINARY = {".png", ".jpg", ".mkv", ".mp4", ".y4m"}


def findings_in(path: pathlib.PurePath, text: str, is_executable: bool) -> list[str]:
    findings = []
    lines = text.splitlines()
    if (path.suffix in repository.CODE | repository.GLSL | {".py", ".cmake"}
        or path.parts[0] == "scripts") and len(lines) > MOST_LINES:
        findings.append(f"{path}: {len(lines)} lines, more than {MOST_LINES}: is it one idea?")
    for number, line in enumerate(lines, 1):
        if path.suffix == ".md" and len(line) > MAX_COLUMNS and not line.startswith("|") and "http" not in line:
            findings.append(f"{path}:{number}: {len(line)} columns, more than {MAX_COLUMNS}")
        for pattern, reason in ((FOREIGN_WORDS, "speaks of a place that the reader does not have"),
                                (UNFINISHED, "is unfinished")):
            match = pattern.search(line)
            if match:
                findings.append(f"{path}:{number}: '{match.group()}' {reason}")
    if path.suffix == ".hpp" and "#pragma once" not in lines:
        findings.append(f"{path}: no #pragma once")
    if text and not text.endswith("\n"):
        findings.append(f"{path}: no newline at its end")
    if is_executable != text.startswith("#!"):
        findings.append(f"{path}: executable and beginning with #! go together")
    return findings


def missing_paths(top: pathlib.Path, page: str) -> list[str]:
    """Files that ARCHITECTURE.md names and that are not there: its lists must stay true."""
    named = sorted(set(re.findall(r"(?<![\w./])(?:[\w-]+/)+[\w-]+\.(?:cpp|hpp|frag|py|txt|md)\b", page)))
    return [f"ARCHITECTURE.md names {path}, which is not there" for path in named if not (top / path).is_file()]


def main() -> int:
    top = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else repository.root()
    findings = []
    for path in repository.files(top):
        if path.suffix not in BINARY:
            text = (top / path).read_text(encoding="utf-8")
            findings += findings_in(path, text, os.access(top / path, os.X_OK))
    findings += missing_paths(top, (top / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    return repository.report(findings, "tree")


if __name__ == "__main__":
    sys.exit(main())
