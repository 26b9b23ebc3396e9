#!/usr/bin/env python3
"""Checks that the faults which scripts/faults puts into the tree still fit it."""
import pathlib
import subprocess
import sys

import repository

FOLDER = pathlib.Path("tests/sim/faults")


def findings_in(top: pathlib.Path) -> list[str]:
    findings = []
    for patch in sorted((top / FOLDER).glob("*.patch")):
        name = (FOLDER / patch.name).as_posix()
        done = subprocess.run(["git", "apply", "--check", name], cwd=top, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            findings.append(f"{name}: no longer fits; make it anew ({done.stderr.splitlines()[0]})")
    return findings


def main() -> int:
    return repository.report(findings_in(repository.root()), "fault patches")


if __name__ == "__main__":
    sys.exit(main())
