"""The machine on which scripts/gpu-check runs: its programs, their ends, and the load of its GPU."""
from __future__ import annotations

import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time
from typing import Callable, TypeVar

NVIDIA_FILES = "/usr/local/nvidia"  # where some virtual machines have the driver
LONGEST_END_S = 20  # for a program that is to end
Result = TypeVar("Result")


class NotRun(Exception):
    """A part that this machine cannot run; the text says why."""


class Failed(Exception):
    """A part that gave a wrong result."""


class Machine:
    def __init__(self, programs: pathlib.Path, output: pathlib.Path, seconds: int):
        self.programs, self.output, self.seconds = programs, output, seconds
        self.environment = dict(os.environ)
        paths = [str(programs / "lib"), *glob.glob(f"{NVIDIA_FILES}/lib64"), *glob.glob(f"{NVIDIA_FILES}/lib"),
                 os.environ.get("LD_LIBRARY_PATH", "")]
        self.environment["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
        installed = glob.glob("/usr/share/glvnd/egl_vendor.d/*nvidia*") + glob.glob("/etc/glvnd/egl_vendor.d/*nvidia*")
        elsewhere = glob.glob(f"{NVIDIA_FILES}/share/glvnd/egl_vendor.d/*nvidia*")
        if not installed and elsewhere:
            self.environment["__EGL_VENDOR_LIBRARY_FILENAMES"] = elsewhere[0]
        self.asked: dict[str, object] = {}

    def ask_once(self, question: str, ask: Callable[[], Result]) -> Result:
        """What `ask` returned when the question was first asked; or raises the NotRun that it raised."""
        if question not in self.asked:
            try:
                self.asked[question] = ask()
            except NotRun as reason:
                self.asked[question] = reason
        answer = self.asked[question]
        if isinstance(answer, NotRun):
            raise answer
        return answer

    def start(self, name: str, *arguments: str, under: tuple[str, ...] = ()) -> subprocess.Popen:
        """`under`: a program that runs this one, and its options."""
        with open(self.output / f"{name}.log", "wb") as log:
            return subprocess.Popen([*under, str(self.programs / arguments[0]), *arguments[1:]], env=self.environment,
                                    stdout=log, stderr=log)

    def log(self, name: str) -> str:
        return (self.output / f"{name}.log").read_text(errors="replace")

    def run(self, name: str, *arguments: str, timeout_s: float = 120, under: tuple[str, ...] = ()) -> str:
        process = self.start(name, *arguments, under=under)
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failed(f"{arguments[0]} did not end in {timeout_s:.0f} s") from None
        if status != 0:
            raise Failed(f"{arguments[0]} ended with {status}: {self.log(name).strip()[-300:]}")
        return self.log(name)


class GpuLoad:
    """Samples the load of the GPU while a part runs."""

    def __enter__(self):
        self.samples: list[float] = []
        self.process = None
        if shutil.which("nvidia-smi"):
            self.process = subprocess.Popen(["nvidia-smi", "--query-gpu=utilization.gpu", "--loop-ms=500",
                                             "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, text=True)
            self.thread = threading.Thread(target=self.read)
            self.thread.start()
        return self

    def read(self):
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.samples.append(float(line))

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.thread.join()
            self.process.wait()

    def mean(self):
        return round(sum(self.samples) / len(self.samples)) if self.samples else None


def free_address() -> str:
    with socket.create_server(("localhost", 0)) as server:
        return f"localhost:{server.getsockname()[1]}"


def end(process: subprocess.Popen, within_s: float) -> tuple[int, float]:
    """Status and CPU seconds, once it has ended by itself or, after that time, by force."""
    deadline = time.monotonic() + within_s
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_utime + used.ru_stime
        if time.monotonic() > deadline + LONGEST_END_S:
            raise Failed(f"process {process.pid} does not end, not even by SIGKILL: its driver may hang")
        if time.monotonic() > deadline:
            os.kill(process.pid, signal.SIGKILL)  # process.kill() may take its status
        time.sleep(0.02)
