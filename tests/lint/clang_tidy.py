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


def compile_commands(build: pathlib.Path, top: pathlib.Path) -> set[str]:
    """The repository's sources that the build compiles, relative to its root."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    paths = {pathlib.Path(entry["file"]) for entry in entries}
    own = {path.relative_to(top).as_posix() for path in paths if path.is_relative_to(top)}
    return {name for name in own if not name.startswith("build/") and name.endswith(".cpp")}


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
    names = compile_commands(build, top)
    wanted = set(sys.argv[2:]) or names
    if wanted - names:
        print(f"not compiled in {build}: {' '.join(sorted(wanted - names))}")
        return 1
    # The options are for g++, which has warnings that clang lacks.
    program = tidy_program(build / "lint")
    command = [*program, "-p", str(build), "--extra-arg=-Wno-unknown-warning-option"]
    version = subprocess.run([program[0], "--version"], capture_output=True, text=True, check=True).stdout
    rules = "".join((top / name).read_text(encoding="utf-8")
                    for name in (".clang-tidy", "tests/.clang-tidy", "tests/sim/.clang-tidy"))
    also = version + rules + (top / "cmake/settings.cmake").read_text(encoding="utf-8")
    outputs = checked.run_all(top, build / "lint", {name: [*command, name] for name in wanted}, also)
    print(f"clang-tidy: {len(wanted)} files, {len(outputs)} of them with findings")
    return repository.report(distinct_findings(outputs), "clang-tidy")


if __name__ == "__main__":
    sys.exit(main())
