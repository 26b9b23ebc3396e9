#!/usr/bin/env python3
"""Checks that clang-format changes no C++ file. With --fix: formats the files."""
import shutil
import subprocess
import sys

import repository


def main() -> int:
    program = shutil.which("clang-format-14")
    if program is None:
        print("clang-format-14 is not installed; scripts/setup --tests installs it")
        return 1
    names = [path.as_posix() for path in repository.files(repository.root(), repository.CODE)]
    if "--fix" in sys.argv[1:]:
        return subprocess.run([program, "-i", *names], cwd=repository.root(), check=False).returncode
    done = subprocess.run([program, "--dry-run", *names], cwd=repository.root(), capture_output=True, text=True,
                          check=False)
    unlike = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
    if done.returncode != 0:
        print(done.stderr)
        return 1
    return repository.report(unlike, "format (tests/lint/format.py --fix mends it)")


if __name__ == "__main__":
    sys.exit(main())
