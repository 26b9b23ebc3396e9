"""Starts rdpipe for the tests: a private sshd simulates the hosts; checks that no process remains."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

import harness
import private_sshd

OWN_FAILURE = 125
SLOT_BYTES, SLOTS = 64 << 10, 4
SMALL = ("--slot-bytes", SLOT_BYTES, "--slots", SLOTS)
RING_BYTES = SLOT_BYTES * SLOTS


def bytes_of_process(pid: int, name: str) -> bytes:
    """/proc/PID/NAME; empty if the process has ended, also during the read."""
    try:
        return pathlib.Path("/proc", str(pid), name).read_bytes()
    except OSError:
        return b""


def of_process(pid: int, name: str) -> str:
    return bytes_of_process(pid, name).decode(errors="replace")


def processes_with(mark: str) -> dict[int, str]:
    """Every living process whose environment has `mark`: the whole pipeline, on all hosts."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        state = of_process(pid, "stat").rpartition(")")[2].split()[:1]
        if mark in of_process(pid, "environ") and state not in ([], ["Z"]):
            found[pid] = of_process(pid, "cmdline").replace("\0", " ").strip()
    return found


@unittest.skipIf(private_sshd.MISSING, private_sshd.MISSING)
class PipelineTest(harness.EndToEnd):
    """All `hosts` are this machine. The environment of every started process has `mark`."""
    sshd_address = "127.0.0.1"
    hosts = ("host1", "host2", "host3")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="framewire-sshd-")
        cls.addClassCleanup(folder.cleanup)
        cls.mark = f"FRAMEWIRE_TEST_MARK={uuid.uuid4().hex}"
        cls.sshd = private_sshd.PrivateSshd(pathlib.Path(folder.name), cls.hosts, cls.sshd_address, mark=cls.mark)
        cls.addClassCleanup(cls.sshd.stop)

    def rdpipe(self, *arguments, prefix=(), config=None, **options) -> harness.Program:
        name, value = self.mark.split("=")
        environment = self.environment(**{name: value})
        return self.start(*prefix, harness.BIN / "rdpipe", "-F", config or self.sshd.client_config, *arguments,
                          environment=environment, **options)

    def run_pipe(self, *arguments, given: bytes | None = b"", status: int = 0, seconds: float = harness.WATCHDOG_S,
                 **options) -> bytes:
        """Runs a pipeline and returns its output; checks that no process remains. `self.program` is rdpipe."""
        stdin = self.file("stdin")
        stdin.write_bytes(given)
        with stdin.open("rb") as source, self.file("stdout").open("w+b") as output:
            self.program = self.rdpipe(*arguments, stdin=source, stdout=output, **options)
            self.ends(self.program, status, seconds)
            output.seek(0)
            printed = output.read()
        self.nothing_is_left()
        return printed

    def left(self) -> dict[int, str]:
        return {pid: line for pid, line in processes_with(self.mark).items() if "sshd" not in line.split(" ")[0]}

    def nothing_is_left(self, seconds: float = 10 * harness.TIMEOUT_SCALE):
        """Checks that no process remains on any host. Killed processes may need a moment."""
        try:
            harness.wait_until(lambda: not self.left(), "every process of the pipeline to go", seconds)
        except AssertionError:
            left = self.left()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            said = "\n".join(program.text for program in self.programs)
            raise AssertionError(f"left behind: {left}; rdpipe said:\n{said}") from None

    def pid_of(self, pattern: str) -> int:
        """Waits for the one process of the pipeline whose command line matches `pattern`."""
        def find():
            pids = [pid for pid, line in self.left().items() if re.search(pattern, line)]
            return pids[0] if pids else None
        return harness.wait_until(find, f"a process {pattern}")

    def says(self, *wanted: str):
        for pattern in wanted:
            self.assertRegex(self.program.text, re.compile(pattern, re.MULTILINE))
        self.assertNotRegex(self.program.text, harness.TRACES_OF_A_CRASH)

    def running(self, *stages, **options) -> harness.Program:
        """Starts a pipeline; returns once its first stage has created a file."""
        begun = self.file("begun")
        first = stages[0].replace(":", f":touch {begun}; ", 1)
        self.program = self.rdpipe(first, *stages[1:], **options)
        harness.wait_until(begun.exists, "the first command to run")
        return self.program

    def ends_soon(self, status: int):
        """Checks that rdpipe and all its processes end so soon that none waits for an ended one: that would take as
        long as to notice a silent host, 10 s. Promised are 2 s on an idle machine."""
        began = time.monotonic()
        self.ends(self.program, status)
        self.nothing_is_left()
        print(f"{time.monotonic() - began:.1f} s", end=" ")
        self.assertLess(time.monotonic() - began, 8 * harness.TIMEOUT_SCALE)

    def rdpipe_says(self, *wanted: str, lines: int = 1):
        self.assertEqual(len(self.program.complaints()), lines, self.program.text)
        self.says(*wanted)

    def no_command_runs(self, *stages) -> None:
        ran = self.file("ran")
        self.run_pipe(*[stage.replace("RUN", f"touch {ran}; cat") for stage in stages], status=OWN_FAILURE)
        self.assertFalse(ran.exists(), "a command was run although not every connection stood")
