"""Runs a command per file, several in parallel, and caches passes: unchanged files are not checked again."""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import threading

OWN_INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


class Inputs:
    """A file and the repository's headers that it includes, directly or not."""

    def __init__(self, top: pathlib.Path):
        self._top = top
        self._lock = threading.Lock()
        self._files: dict[str, tuple[bytes, list[str]]] = {}

    def _read(self, name: str) -> tuple[bytes, list[str]]:
        with self._lock:
            if name not in self._files:
                path = self._top / name
                text = path.read_bytes() if path.is_file() else b""
                beside = pathlib.PurePosixPath(name).parent
                found = [n.decode() for n in OWN_INCLUDE.findall(text)]
                self._files[name] = (text, [n if (self._top / n).is_file() else str(beside / n) for n in found])
            return self._files[name]

    def digest(self, name: str) -> str:
        hasher = hashlib.sha256()
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                text, includes = self._read(one)
                hasher.update(one.encode() + b"\0" + text + b"\0")
                waiting += includes
        return hasher.hexdigest()


def run_all(top: pathlib.Path, folder: pathlib.Path, commands: dict[str, list[str]], also: str) -> list[str]:
    """Runs each file's command; returns the output of failures. `also`: what else the result depends on."""
    inputs = Inputs(top)
    folder.mkdir(parents=True, exist_ok=True)

    def check(item: tuple[str, list[str]]) -> str | None:
        name, command = item
        key = hashlib.sha256("\0".join([also, inputs.digest(name), *command]).encode()).hexdigest()
        passed = folder / key
        if passed.exists():
            return None
        done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            passed.touch()
            return None
        return f"--- {name}\n{done.stdout.strip()}\n{done.stderr.strip() if not done.stdout.strip() else ''}".strip()

    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return [output for output in pool.map(check, sorted(commands.items())) if output is not None]
