#!/usr/bin/env python3
"""Runs clang-tidy on the repository's sources. Arguments: the build folder, and optionally the files to check."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import checked
import repository

CLANG_HEADERS = pathlib.Path("/usr/lib/llvm-14/include")
PLUGIN = pathlib.Path(__file__).resolve().with_name("own_declarations.cpp")

# The start of a finding: "path:line:column: error: …".
FINDING = re.compile(r"^(?=\S+:\d+:\d+: (?:error|warning): )", re.MULTILINE)


# A source of a unity build includes the repository's sources by their absolute paths.
UNITY_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def sources_of(unit: pathlib.Path, top: pathlib.Path) -> set[str]:
    """The repository's sources that are compiled with `unit`, relative to its root: itself, or what it includes."""
    paths = [unit]
    if unit.name.startswith("unity_") and unit.is_file():
        paths = [pathlib.Path(name) for name in UNITY_INCLUDE.findall(unit.read_text(encoding="utf-8"))]
    own = {path.relative_to(top).as_posix() for path in paths if path.is_relative_to(top)}
    return {name for name in own if not name.startswith("build/") and name.endswith(".cpp")}


def compiled_units(build: pathlib.Path, top: pathlib.Path) -> dict[str, set[str]]:
    """What the build compiles, relative to the repository's root, and which of its sources are in each unit."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    paths = {pathlib.Path(entry["file"]) for entry in entries}
    units = {path.relative_to(top).as_posix(): sources_of(path, top) for path in paths if path.is_relative_to(top)}
    return {unit: sources for unit, sources in units.items() if sources}


def copy_rules(top: pathlib.Path, build: pathlib.Path, rules: list[str]) -> None:
    """clang-tidy looks for a folder's own rules beside the unit, which for a unity build is in the build folder."""
    for name in rules:
        copy = build / name
        if copy.parent.is_dir():
            copy.write_bytes((top / name).read_bytes())


def distinct_findings(outputs: list[str]) -> list[str]:
    """Removes duplicates: a finding in a header occurs with every source that includes it."""
    blocks = [block.strip() for output in outputs for block in FINDING.split(output)[1:]]
    return list(dict.fromkeys(blocks)) or outputs


def tidy_program(folder: pathlib.Path) -> list[str]:
    """The clang-tidy command with the plugin. Builds the plugin if needed; exits with a message on failure."""
    program = shutil.which("clang-tidy-14")
    if program is None or not (CLANG_HEADERS / "clang/Frontend/FrontendPluginRegistry.h").is_file():
        sys.exit(f"{'libclang-14-dev' if program else 'clang-tidy-14'} is not installed; "
                 f"scripts/setup --tests installs it")
    plugin = folder / f"own_declarations-{hashlib.sha256(PLUGIN.read_bytes()).hexdigest()[:16]}.so"
    if not plugin.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = plugin.with_suffix(f".{os.getpid()}")
        command = ["c++", "-std=c++17", "-O1", "-fno-rtti", "-fPIC", "-shared", "-isystem", CLANG_HEADERS, PLUGIN,
                   "-o", unfinished]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit("clang-tidy's plugin cannot be built; "
                     "scripts/setup --tests installs what it needs (libclang-14-dev, llvm-14-dev)")
        unfinished.rename(plugin)
    return [program, f"--load={plugin}", "--quiet"]


def main() -> int:
    top = repository.root()
    build = pathlib.Path(sys.argv[1]).resolve()
    units = compiled_units(build, top)
    names = set().union(*units.values())
    wanted = set(sys.argv[2:]) or names
    if wanted - names:
        print(f"not compiled in {build}: {' '.join(sorted(wanted - names))}")
        return 1
    rules = [".clang-tidy", "tests/.clang-tidy", "tests/sim/.clang-tidy"]
    copy_rules(top, build, rules[1:])
    program = tidy_program(build / "lint")
    # The options are for g++, which has warnings that clang lacks. Sources include sources in unity builds only.
    command = [*program, "-p", str(build), "--extra-arg=-Wno-unknown-warning-option",
               "--checks=-bugprone-suspicious-include"]
    version = subprocess.run([program[0], "--version"], capture_output=True, text=True, check=True).stdout
    also = version + "".join((top / name).read_text(encoding="utf-8") for name in [*rules, "cmake/settings.cmake"])
    commands = {unit: [*command, unit] for unit, sources in units.items() if sources & wanted}
    outputs = checked.run_all(top, build / "lint", commands, also)
    print(f"clang-tidy: {len(commands)} units, {len(outputs)} of them with findings")
    return repository.report(distinct_findings(outputs), "clang-tidy")


if __name__ == "__main__":
    sys.exit(main())
