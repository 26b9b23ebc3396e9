#!/usr/bin/env python3
"""tests/gpu/check.py PROGRAMS OUTPUT [--seconds N] [--within SECONDS] [--only PART]... [--skip PART]...
                        [--require]

Runs the programs under the folder PROGRAMS on this machine's GPU. Prints for each part what was seen, or why it was not
run, and at the end tables with the goals. Writes OUTPUT/gpu-check.json, the tables as OUTPUT/gpu-check.md, pictures and
logs. Ends with status 1 if a part failed; a goal that is missed is no failure.
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
from gpu_memory import streams_on_gpu, what_runs
from gpu_report import COPIES, goals, tables, why_not
from gpu_streams import composed_streams, single_streams

NO_TIME = "there was no time left (--within)"
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
    """First what this machine has, then what matters most: there may be no time for all."""
    return {
        "machine": lambda: see_machine(machine),
        "cuda": lambda: probe_cuda(machine),
        "what runs here": lambda: what_runs(machine),
        **streams_on_gpu(machine),
        COPIES: lambda: copy_speed(machine),
        "pixels": lambda: run_tests(machine, "test_pixels"),
        "scenes": lambda: run_tests(machine, "test_sender_gl"),
        "viewer": lambda: run_tests(machine, "test_viewer", DRAWN),
        **composed_streams(machine),
        **single_streams(machine),
        "window": lambda: window(machine),
    }


def text_of(result: dict | list[str]) -> str:
    return "\n    ".join(result) if isinstance(result, list) else json.dumps(result)


def run_part(part) -> tuple[dict | list[str], str]:
    """Its result, and that in words."""
    try:
        result = part()
        return result, text_of(result)
    except NotRun as reason:
        return {"not run": str(reason)}, f"not run: {reason}"
    except (Failed, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as error:
        words = f"{type(error).__name__}: {error}"
        return {"failed": words}, f"FAILED: {words}"


def write(machine: Machine, results: dict) -> None:
    (machine.output / "gpu-check.json").write_text(json.dumps({**results, "goals": goals(results)}, indent=1) + "\n")
    (machine.output / "gpu-check.md").write_text(tables(results))


def run_parts(machine: Machine, chosen: dict, within_s: float) -> dict:
    """The results of all. A part that would begin later than `within_s` after the first is not run."""
    results: dict = {}
    begun_first = time.monotonic()
    for name, part in chosen.items():
        begun = time.monotonic()
        if begun - begun_first > within_s:
            results[name], text = {"not run": NO_TIME}, f"not run: {NO_TIME}"
        else:
            results[name], text = run_part(part)
        print(f"{name}  ({time.monotonic() - begun:.0f} s)\n    {text}", flush=True)
        write(machine, results)
    print(f"\n{tables(results)}\n{time.monotonic() - begun_first:.0f} s", flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=4, help="how long each stream runs (default: 4)")
    parser.add_argument("--within", type=int, default=400, metavar="SECONDS",
                        help="begin no part later than this (default: 400)")
    parser.add_argument("--only", action="append", metavar="PART", help="run this part; repeat it for more")
    parser.add_argument("--skip", action="append", default=[], metavar="PART", help="do not run this part")
    parser.add_argument("--require", action="store_true", help="a part that this machine cannot run is a failure")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    machine = Machine(arguments.programs.resolve(), arguments.output.resolve(), arguments.seconds)
    known = parts(machine)
    for name in [*(arguments.only or []), *arguments.skip]:
        if name not in known:
            parser.error(f"'{name}' is no part; the parts are: {'; '.join(known)}")
    chosen = {name: part for name, part in known.items()
              if name not in arguments.skip and (not arguments.only or name in arguments.only)}
    results = run_parts(machine, chosen, arguments.within)
    bad = ["failed", "not run"] if arguments.require else ["failed"]
    return 1 if any(why_not(result, bad) for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
