#!/usr/bin/env python3
"""The binary interface of libframewire: what the header declares, and its comparison with the baseline.

Descriptions come from a library without contents that is made from the header, so that no debug information of the
real one is needed. Run as a program (scripts/abi-baseline) it writes the baseline.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "library" / "include" / "framewire" / "framewire.h"
VERSION_SCRIPT = ROOT / "library" / "library.map"
BASELINE = ROOT / "library" / "libframewire.so.0.abi"
SYMBOLS = ROOT / "cmake" / "debian" / "libframewire0.symbols"
SONAME = "libframewire.so.0"
VERSION_NODE = "FRAMEWIRE_0"

DECLARATION = re.compile(r"^FW_API\s+([^;]+?\b(fw_\w+)\([^;]*\));", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ENUMERATION = re.compile(r"\benum\s*\{(.*?)\}", re.DOTALL)
# The bits of abidiff's exit status.
CHANGED, INCOMPATIBLE = 4, 8


def run(*command, good=(0,)) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode not in good:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


def functions(header: str) -> list[str]:
    return [name for _, name in DECLARATION.findall(header)]


def constants(header: str) -> list[str]:
    lists = ENUMERATION.findall(COMMENT.sub("", header))
    return [name for each in lists for name in re.findall(r"\b(FW_\w+) *=", each)]


def source_of(header: str) -> str:
    """A library without contents. Constants are sizes of arrays in it, because abidiff compares no values."""
    bodies = [f"{declaration} {{ {'' if declaration.startswith('void ') else 'return 0;'} }}\n"
              for declaration, _ in DECLARATION.findall(header)]
    sizes = [f"FW_API char fw_constant_{name}[100 + {name}];\n" for name in constants(header)]
    return "".join(["#include <framewire/framewire.h>\n", *bodies, *sizes])


def describe(header: str, folder: pathlib.Path) -> pathlib.Path:
    """Writes the description of the interface that `header` declares to a file in `folder`; the same bytes each
    time."""
    include = folder / "include" / "framewire"
    include.mkdir(parents=True)
    (include / "framewire.h").write_text(header, encoding="utf-8")
    source, library, described = folder / "framewire.c", folder / SONAME, folder / "described.abi"
    source.write_text(source_of(header), encoding="utf-8")
    run("gcc", "-std=c11", "-g", "-w", "-shared", "-fPIC", "-fvisibility=hidden", f"-ffile-prefix-map={folder}=.",
        f"-I{folder / 'include'}", source, f"-Wl,-soname,{SONAME}", f"-Wl,--version-script={VERSION_SCRIPT}",
        "-o", library)
    run("abidw", "--no-architecture", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
        "--drop-private-types", "--type-id-style", "hash", "--headers-dir", folder / "include",
        "--out-file", described, library)
    return described


def compare(before: pathlib.Path, after: pathlib.Path) -> tuple[int, str]:
    """abidiff's exit status, and what it says."""
    done = run("abidiff", "--no-architecture", before, after, good=(0, CHANGED, CHANGED | INCOMPATIBLE))
    return done.returncode, done.stdout


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="framewire-abi-") as name:
        described = describe(HEADER.read_text(encoding="utf-8"), pathlib.Path(name))
        if BASELINE.exists():
            status, report = compare(BASELINE, described)
            print(report if status else "nothing has changed")
        BASELINE.write_bytes(described.read_bytes())
    print(f"wrote {BASELINE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
