"""Helpers for tests of manual pages and completions: the programs and their paths."""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import time

BUILD = pathlib.Path(os.environ.get("FRAMEWIRE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build" / "dev"))
SHARE = BUILD / "share"
PROGRAMS = os.environ.get("FRAMEWIRE_PROGRAMS", "framewire framewire-key rdsend rdrecv").split()
OPTION = re.compile(r"--?[A-Za-z][a-z-]*")
TIMEOUT_S = 120  # nothing here takes long, but test machines are slow


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise AssertionError(f"{name} is not installed; scripts/setup --tests installs it")
    return found


def help_of(program: str) -> str:
    return subprocess.run([BUILD / "bin" / program, "--help"], check=True, capture_output=True, text=True).stdout


def options_of(program: str) -> set[str]:
    """Every name of every option that --help shows."""
    labels = re.findall(r"^  ((?:-\w, )?--[a-z-]+|-\w\b)", help_of(program), re.MULTILINE)
    return {name for label in labels for name in OPTION.findall(label)}


def values_of(program: str, option: str) -> list[str]:
    """The values of an option as --help lists them, with bars between them."""
    return re.search(rf"^  (?:-\w, )?{option} ([\w|]+)", help_of(program), re.MULTILINE).group(1).split("|")


def page_of(program: str) -> pathlib.Path:
    return SHARE / "man" / "man1" / f"{program}.1"


def bash_of(program: str) -> pathlib.Path:
    return SHARE / "bash-completion" / "completions" / program


def zsh_of(program: str) -> pathlib.Path:
    return SHARE / "zsh" / "site-functions" / f"_{program}"


class Shell:
    """An interactive shell on its own terminal, driven by key presses. After `start`, ctrl-X 1 inserts all completions,
    and ctrl-X 2 writes the line to the file `answers` and clears it."""

    def __init__(self, arguments: list[str], start: str, folder: pathlib.Path, home: pathlib.Path):
        self._answers = folder / "answers"
        self._answers.write_text("")
        hosts = folder / "hosts"  # in place of /etc/hosts, whose names are this machine's
        hosts.write_text("127.0.0.1 localhost\n")
        environment = {"PATH": f"{BUILD / 'bin'}:/usr/bin:/bin", "HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                       "PS1": "", "HOSTFILE": str(hosts)}
        self._terminal, theirs = pty.openpty()
        self._process = subprocess.Popen(arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
                                         cwd=folder, start_new_session=True)
        os.close(theirs)
        os.set_blocking(self._terminal, False)
        self.said = b""
        script = folder / "start"
        script.write_text(f"answers={self._answers}\n{start}\nprintf 'ready\\n' >>$answers\n")
        self._press(f" . {script}\n")
        self._wait_for_answers(1)

    def _press(self, keys: str):
        os.write(self._terminal, keys.encode())

    def _wait_for_answers(self, count: int) -> str:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            lines = self._answers.read_text().splitlines()
            if len(lines) >= count:
                return lines[count - 1]
            try:
                self.said += os.read(self._terminal, 65536)
            except (BlockingIOError, OSError):
                time.sleep(0.01)
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError(f"the shell did not answer; it said: {self.said.decode(errors='replace')}")

    def completed(self, line: str) -> list[str]:
        """Returns all completions of the last word of `line`."""
        count = len(self._answers.read_text().splitlines())
        self._press(line + "\x181\x182")
        answer = self._wait_for_answers(count + 1)
        kept = line[:line.rfind(" ") + 1]
        if not answer.startswith(kept):
            raise AssertionError(f"'{line}' became '{answer}'")
        return answer[len(kept):].split()

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)
