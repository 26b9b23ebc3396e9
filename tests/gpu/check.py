#!/usr/bin/env python3
"""tests/gpu/check.py PROGRAMS OUTPUT [--seconds N] [--only PART]... [--skip PART]... [--require]

Runs the programs under the folder PROGRAMS on this machine's GPU. Writes OUTPUT/gpu-check.json, pictures and logs, and
prints one row for each part: what was seen, or why it was not run. Ends with status 1 if a part failed.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from gpu_machine import LONGEST_END_S, Failed, Machine, NotRun, end, free_address
from gpu_memory import streams_on_gpu
from gpu_streams import composed_streams, single_streams

# The tests of the viewer that draw.
DRAWN = ":".join(f"{suite}.*" for suite in ("LayerTest", "GoodLayer", "Quality", "ProgramTest", "Blocked*",
                                            "RecorderTest", "CompositionTest", "SeveralStreams", "CompositorTest"))


def see_machine(machine: Machine) -> dict:
    gpu = "no nvidia-smi"
    if shutil.which("nvidia-smi"):
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                             capture_output=True, text=True, check=False).stdout.strip()
    report = json.loads(machine.run("doctor", "bin/framewire-doctor", "--json"))
    cpu = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {"gpu": gpu, "cpu": f"{len(cpu)} x {cpu[0] if cpu else '?'}", "kernel": os.uname().release,
            "date": time.strftime("%Y-%m-%d"), "opengl": report["opengl"], "doctor_gpu": report["gpu"]}


def run_tests(machine: Machine, program: str, names: str = "*") -> dict:
    report = machine.output / f"{program}.json"
    process = machine.start(program, f"tests/{program}", f"--gtest_output=json:{report}", "--gtest_brief=1",
                            f"--gtest_filter={names}")
    try:
        status = process.wait(240)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    if not report.exists():
        raise Failed(f"{program} ended with {status}: {machine.log(program).strip()[-300:]}")
    result = json.loads(report.read_text())
    tests = [(f"{suite['name']}.{test['name']}", test) for suite in result["testsuites"] for test in suite["testsuite"]]
    bad = [name for name, test in tests if test.get("failures")]
    skipped = sum(test.get("result") == "SKIPPED" for _, test in tests)
    if bad:
        raise Failed(f"{len(bad)} of {len(tests)} tests failed, {skipped} were skipped: {', '.join(bad[:12])}")
    return {"tests": len(tests), "passed": len(tests) - skipped, "skipped": skipped, "failed": 0}


def copy_speed(machine: Machine) -> dict:
    return json.loads(machine.run("copy-speed", "tests/gpu_copy_speed"))


def probe_cuda(machine: Machine) -> list[str]:
    lines = machine.run("cuda-probe", "tests/gpu_cuda_probe").splitlines()
    if lines[0].startswith("CUDA: no: "):
        raise NotRun(lines[0].removeprefix("CUDA: no: "))
    return lines


def window(machine: Machine) -> dict:
    """The viewer's window, on $DISPLAY or on an Xvfb of its own."""
    server = None
    if not os.environ.get("DISPLAY"):
        if not shutil.which("Xvfb"):
            raise NotRun("there is no display, and no Xvfb")
        server = subprocess.Popen(["Xvfb", ":91", "-screen", "0", "1920x1080x24", "+extension", "GLX"],
                                  stdout=subprocess.DEVNULL, stderr=open(machine.output / "xvfb.log", "wb"))
        machine.environment["DISPLAY"] = ":91"
        for _ in range(100):  # 10 s
            if os.path.exists("/tmp/.X11-unix/X91"):
                break
            time.sleep(0.1)
    address, stats = free_address(), machine.output / "window.json"
    sender = None
    try:
        sender = machine.start("window-sender", "bin/framewire-send", "--listen", address, "gl:orbit", "--fps", "60",
                               "--size", "1280x720")
        machine.run("window-viewer", "bin/framewire-view", address, "--duration", str(machine.seconds), "--stats",
                    str(stats), "--screenshot", str(machine.output / "window.png"),
                    timeout_s=machine.seconds + 2 * LONGEST_END_S)
    finally:
        if sender:
            os.kill(sender.pid, signal.SIGTERM)
            end(sender, LONGEST_END_S)
        if server:
            server.terminate()
            server.wait()
            machine.environment.pop("DISPLAY")
    report = json.loads(stats.read_text())
    return {key: report[key] for key in ("fps", "frames_shown", "frames_skipped", "surface", "upload", "renderer")}


def parts(machine: Machine) -> dict:
    return {
        "machine": lambda: see_machine(machine),
        **single_streams(machine),
        **composed_streams(machine),
        **streams_on_gpu(machine),
        "window": lambda: window(machine),
        "copy speed, 3840x2160 rgba (ms)": lambda: copy_speed(machine),
        "cuda": lambda: probe_cuda(machine),
        "pixels": lambda: run_tests(machine, "test_pixels"),
        "scenes": lambda: run_tests(machine, "test_sender_gl"),
        "viewer": lambda: run_tests(machine, "test_viewer", DRAWN),
    }


def text_of(result: dict | list[str]) -> str:
    return "\n    ".join(result) if isinstance(result, list) else json.dumps(result)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=6, help="how long each stream runs (default: 6)")
    parser.add_argument("--only", action="append", metavar="PART", help="run this part; repeat it for more")
    parser.add_argument("--skip", action="append", default=[], metavar="PART", help="do not run this part")
    parser.add_argument("--require", action="store_true", help="a part that this machine cannot run is a failure")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    machine = Machine(arguments.programs.resolve(), arguments.output.resolve(), arguments.seconds)
    results, failed = {}, False
    known = parts(machine)
    for name in [*(arguments.only or []), *arguments.skip]:
        if name not in known:
            parser.error(f"'{name}' is no part; the parts are: {'; '.join(known)}")
    for name, part in known.items():
        if name in arguments.skip or (arguments.only and name not in arguments.only):
            continue
        begun = time.monotonic()
        try:
            results[name] = part()
            text = text_of(results[name])
        except NotRun as reason:
            failed = failed or arguments.require
            results[name] = {"not run": str(reason)}
            text = f"not run: {reason}"
        except (Failed, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as error:
            failed = True
            results[name] = {"failed": f"{type(error).__name__}: {error}"}
            text = f"FAILED: {type(error).__name__}: {error}"
        print(f"{name}  ({time.monotonic() - begun:.0f} s)\n    {text}", flush=True)
        (machine.output / "gpu-check.json").write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
