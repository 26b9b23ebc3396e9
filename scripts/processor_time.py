"""What scripts share that measure the processor time of programs: starts them, waits for them, and ends them."""
import os
import pathlib
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "release" / "bin"
os.environ["FRAMEWIRE_BIN"] = str(BIN)
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness import free_port, listening_on  # noqa: E402,F401

WARM_UP_S = 3


def start(*command, **environment) -> subprocess.Popen:
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            env=os.environ | environment)


def end(programs):
    for program in programs:
        program.send_signal(signal.SIGINT)
    for program in programs:
        try:
            program.wait(10)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


def await_that(condition, what: str):
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{pathlib.Path(sys.argv[0]).name}: waited 30 s for {what}")
        time.sleep(0.05)


def cpu_s(program: subprocess.Popen) -> float:
    """Of all of its threads, so far (proc(5): utime and stime)."""
    fields = pathlib.Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spent_s(programs: list[subprocess.Popen], seconds: float) -> list[float]:
    """The processor time of each in this time, after they have warmed up."""
    time.sleep(WARM_UP_S)
    began_s, before_s = time.monotonic(), [cpu_s(program) for program in programs]
    time.sleep(seconds)
    if ended := [program for program in programs if program.poll() is not None]:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {ended[0].args[0]} ended too early")
    passed_s = time.monotonic() - began_s
    return [(cpu_s(program) - before) / passed_s * seconds for program, before in zip(programs, before_s)]
