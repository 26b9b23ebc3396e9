#!/usr/bin/env python3
"""Checks that the faults which scripts/faults puts into the tree still fit it."""
import pathlib
import subprocess
import sys

import repository

FOLDER = pathlib.Path("tests/sim/faults")
DRY_RUN = ("patch", "-p1", "--fuzz=0", "--dry-run", "--force", "--silent")


def findings_in(top: pathlib.Path) -> list[str]:
    findings = []
    for patch in sorted((top / FOLDER).glob("*.patch")):
        name = (FOLDER / patch.name).as_posix()
        done = subprocess.run([*DRY_RUN, f"--input={name}"], cwd=top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        if done.returncode != 0:
            findings.append(f"{name}: no longer fits; make it anew ({done.stdout.strip()})")
    return findings


def main() -> int:
    return repository.report(findings_in(repository.root()), "fault patches")


if __name__ == "__main__":
    sys.exit(main())
