#!/usr/bin/env python3
"""tests/gpu/check.py PROGRAMS OUTPUT [--seconds N] [--only PART]...

Runs the programs under the folder PROGRAMS on this machine's GPU. Writes OUTPUT/gpu-check.json, pictures and logs, and
prints one row for each part: what was seen, or why it was not run. Ends with status 1 if a part failed.
"""
from __future__ import annotations

import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

NVIDIA_FILES = "/usr/local/nvidia"  # where some virtual machines have the driver
LONGEST_END_S = 20  # for a program that is to end


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

    def start(self, name: str, *arguments: str) -> subprocess.Popen:
        with open(self.output / f"{name}.log", "wb") as log:
            return subprocess.Popen([str(self.programs / arguments[0]), *arguments[1:]], env=self.environment,
                                    stdout=log, stderr=log)

    def log(self, name: str) -> str:
        return (self.output / f"{name}.log").read_text(errors="replace")

    def run(self, name: str, *arguments: str, timeout_s: float = 120) -> str:
        process = self.start(name, *arguments)
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
        if time.monotonic() > deadline:
            os.kill(process.pid, signal.SIGKILL)  # process.kill() may take its status
        time.sleep(0.02)


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


def reports_of(file: pathlib.Path) -> list[dict]:
    """The report of each stream that a viewer showed."""
    report = json.loads(file.read_text())
    everything = {key: value for key, value in report.items() if key != "streams"}
    return [{**everything, **stream} for stream in report.get("streams", [report])]


def summary(reports: list[dict]) -> dict:
    """Rates and latencies are those of the slowest stream, counts are sums."""
    if not all(report["frames_shown"] for report in reports):
        raise Failed(f"not every stream was shown: {[report['frames_shown'] for report in reports]}")
    if torn := sum(report["frames_torn"] or 0 for report in reports):
        raise Failed(f"{torn} frames are torn")
    slowest = max(reports, key=lambda report: report["latency_ms"]["p50"])
    return {
        "fps": round(min(report["fps"] for report in reports), 2),
        "shown": sum(report["frames_shown"] for report in reports),
        "skipped": sum(report["frames_skipped"] for report in reports),
        "superseded": sum(report["frames_superseded"] for report in reports),
        "latency p50, p99 (ms)": [round(max(report["latency_ms"][of] for report in reports), 2)
                                  for of in ("p50", "p99")],
        "stages p50 (ms)": {stage: round(times["p50"], 2) for stage, times in slowest["stage_latency_ms"].items()
                             if times},
        **{key: slowest[key] for key in ("quality", "memory", "upload", "surface", "renderer")},
    }


def what_to_view(machine: Machine, name: str, address: str, scene: str | None) -> list[str]:
    if scene is None:
        return [address]
    file = machine.output / f"{name}.toml"
    file.write_text(scene.replace("SENDER", address))
    return ["--scene", str(file)]


def stream(machine: Machine, name: str, sources: list[str], send: list[str], view: list[str], viewers: int = 1,
           scene: str | None = None) -> dict:
    """One sender and a headless viewer of all its streams, or a viewer for each of them, for a while."""
    address = free_address()
    stats = [machine.output / f"{name}-{i}.json" for i in range(viewers)]
    for file in stats:
        file.unlink(missing_ok=True)
    sender = machine.start(f"{name}-sender", "bin/framewire-send", "--listen", address, *send, *sources)
    names = [f"/s{i}" if viewers > 1 else "" for i in range(viewers)]
    processes = []
    try:
        with GpuLoad() as load:
            for i in range(viewers):
                processes.append(
                    machine.start(f"{name}-viewer{i}", "bin/framewire-view",
                                  *what_to_view(machine, name, address + names[i], scene), "--headless",
                                  "--duration", str(machine.seconds), "--retry", "10", "--stats", str(stats[i]), *view,
                                  "--screenshot", str(machine.output / f"{name}-{i}.png")))
            ends = [end(process, machine.seconds + LONGEST_END_S) for process in processes]
    finally:
        os.kill(sender.pid, signal.SIGTERM)  # terminate() would take its status and lose its CPU seconds
        sender_status, sender_cpu_s = end(sender, LONGEST_END_S)
    wrong = [status for status, _ in ends if status != 0]
    if wrong or sender_status != 0:
        raise Failed(f"viewers ended with {[status for status, _ in ends]}, the sender with {sender_status}: "
                     f"{machine.log(name + '-viewer0').strip()[-300:]} {machine.log(name + '-sender').strip()[-300:]}")
    reports = [report for file in stats for report in reports_of(file)]
    if "--verify" in view and not all(report["frames_checked"] for report in reports):
        raise Failed("no frame was checked")
    return {
        **summary(reports),
        "CPU of a core: sender, viewers": [round(sender_cpu_s / machine.seconds, 3),
                                           round(sum(cpu_s for _, cpu_s in ends) / machine.seconds, 3)],
        "GPU load (%)": load.mean(),
        "source": re.findall(r"^stream .*", machine.log(f"{name}-sender"), re.MULTILINE)[0],
    }


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


UHD = ["--size", "3840x2160"]
SMALL = ["--size", "960x540"]
GPU = ["--memory", "cuda"]
FILM = "film.mkv"  # tests/gpu/bundle.py makes it
NVDEC = ["--hwaccel", "cuda"]
SIX = [word for i in range(6) for word in ("--name", f"s{i}")]
# The tests of the viewer that draw.
DRAWN = ":".join(f"{suite}.*" for suite in ("LayerTest", "GoodLayer", "Quality", "ProgramTest", "Blocked*",
                                            "RecorderTest", "CompositionTest", "SeveralStreams", "CompositorTest"))


def blends(light: str) -> str:
    """A scene with each blend over a picture that fills the canvas, and one of half the opacity."""
    layers = [f'canvas = "1920x1080"\nlight = "{light}"\n[[layer]]\nsource = "SENDER/s0"\nsize = [1920, 1080]\n']
    for i, words in enumerate(('blend = "add"', 'blend = "multiply"', 'blend = "screen"', "opacity = 0.5")):
        layers.append(f'[[layer]]\nsource = "SENDER/s{1 + i % 2}"\nat = [{80 + 450 * i}, {120 + 200 * i}]\n'
                      f"size = [400, 225]\n{words}\n")
    return "".join(layers)


def single_streams(machine: Machine) -> dict:
    return {
        "waves 4K60, local": lambda: stream(machine, "waves", ["gl:waves"], UHD, SMALL),
        "waves 4K60, local, fast": lambda: stream(machine, "waves-fast", ["gl:waves"], UHD,
                                                  [*SMALL, "--quality", "fast"]),
        "waves 4K60, local, one slice": lambda: stream(machine, "slice", ["gl:waves"], [*UHD, "--slices", "1"], SMALL),
        "waves 4K60, tcp": lambda: stream(machine, "tcp", ["gl:waves"], [*UHD, "--transport", "tcp", "--insecure"],
                                          [*SMALL, "--transport", "tcp", "--insecure"]),
        "orbit 4K60, drawn at 4K": lambda: stream(machine, "orbit", ["gl:orbit"], UHD, UHD),
        "aurora 4K60 nv12": lambda: stream(machine, "nv12", ["gl:aurora"], [*UHD, "--pix-fmt", "nv12"], UHD),
        "aurora 4K60 nv12, fast": lambda: stream(machine, "nv12-fast", ["gl:aurora"], [*UHD, "--pix-fmt", "nv12"],
                                                 [*UHD, "--quality", "fast"]),
        "pattern 4K60 p010le": lambda: stream(machine, "pattern", ["pattern"], [*UHD, "--pix-fmt", "p010le"], SMALL),
        "stamped 4K60, checked": lambda: stream(machine, "stamped", ["pattern:stamped"], UHD, [*SMALL, "--verify"]),
        "waves 4K, up to 1000 fps": lambda: stream(machine, "fast", ["gl:waves"], [*UHD, "--fps", "1000"], SMALL),
        "six 4K60, six viewers": lambda: stream(machine, "six", ["gl:waves"] * 6, [*UHD, *SIX], SMALL, 6),
    }


def composed_streams(machine: Machine) -> dict:
    """Several streams in one picture."""
    def six(name: str, *view: str) -> dict:
        return stream(machine, name, ["gl:waves"] * 6, [*UHD, *SIX], ["--layout", "grid", *view])

    three = [*SIX[:6], "--size", "1920x1080"]
    scenes = ["gl:waves", "gl:aurora", "gl:orbit"]
    return {
        "six 4K60 in a grid, 1080p": lambda: six("grid", "--size", "1920x1080"),
        "six 4K60 in a grid, 1080p, fast": lambda: six("grid-fast", "--size", "1920x1080", "--quality", "fast"),
        "six 4K60 in a grid, 4K": lambda: six("grid-4k", *UHD),
        "six 4K60 in a grid, 4K, 60 Hz": lambda: six("grid-hz", *UHD, "--refresh", "60"),
        "six 1080p60 in a grid, 1080p": lambda: stream(
            machine, "grid-hd", ["gl:waves"] * 6, ["--size", "1920x1080", *SIX], ["--size", "1920x1080"]),
        "six 4K60 nv12 in a grid, 1080p, fast": lambda: stream(
            machine, "grid-nv12", ["gl:waves"] * 6, [*UHD, "--pix-fmt", "nv12", *SIX],
            ["--size", "1920x1080", "--quality", "fast"]),
        "a local layer in a corner": lambda: stream(machine, "layer", ["gl:waves"], UHD, [
            "--layer", "gl:aurora", "--layout", "pip", "--size", "1920x1080"]),
        "overlay by screen": lambda: stream(machine, "overlay", scenes[:2], [*SIX[:4], "--size", "1920x1080"], [
            "--layout", "overlay", "--blend", "screen", "--size", "1920x1080"]),
        "blends, good": lambda: stream(machine, "blends", scenes, three, ["--size", "1920x1080", "--quality", "good"],
                                       scene=blends("coded")),
        "blends, fast": lambda: stream(machine, "blends-fast", scenes, three,
                                       ["--size", "1920x1080", "--quality", "fast"], scene=blends("coded")),
        "blends of linear light": lambda: stream(machine, "blends-linear", scenes, three, ["--size", "1920x1080"],
                                                 scene=blends("linear")),
    }


def require_cuda(machine: Machine) -> None:
    """Whether the programs take --memory cuda here; without a stream there is nothing to wait for."""
    sender = machine.start("gpu-memory", "bin/framewire-send", "pattern", "--listen", free_address(), *GPU)
    time.sleep(2)
    os.kill(sender.pid, signal.SIGTERM)
    if end(sender, LONGEST_END_S)[0] != 0:
        raise NotRun(machine.log("gpu-memory").strip()[-300:])


def on_gpu(machine: Machine, name: str, sources: list[str], send: list[str], view: list[str]) -> dict:
    """A stream whose frames lie in the GPU's memory at both ends. With --verify the viewer copies them to host memory.
    """
    require_cuda(machine)
    result = stream(machine, name, sources, [*send, *GPU], [*view, *GPU])
    if result["memory"] != "cuda" or (result["upload"] == "GPU memory") == ("--verify" in view):
        raise Failed(f"frames lie in {result['memory']} memory, and come by {result['upload']}")
    return result


def bench_of_gpu(machine: Machine) -> dict:
    require_cuda(machine)
    rows = json.loads(machine.run("gpu-bench", "bin/framewire-bench", "--json", "--transport", "local", *GPU,
                                  "--message-bytes", "64,33177600", "--duration", "1s", "--slots", "4"))["results"]
    if {row["memory"] for row in rows} != {"cuda"}:
        raise Failed(f"messages lie in {[row['memory'] for row in rows]}")
    return {f"{row['operation']}, {row['message_bytes']} bytes": {
        "messages/s": round(row["messages_per_second"]), "latency p50 (us)": row["latency_us"]["p50"]} for row in rows}


def require_nvdec(machine: Machine) -> str:
    """The film, if this GPU decodes it. It has no viewer here, and is decoded up to its first picture."""
    film = machine.programs / FILM
    if not film.exists():
        raise NotRun(f"there is no {film}; scripts/gpu-check --prepare makes it")
    sender = machine.start("nvdec", "bin/framewire-send", str(film), *NVDEC, "--listen", free_address())
    time.sleep(3)
    os.kill(sender.pid, signal.SIGTERM)
    if end(sender, LONGEST_END_S)[0] != 0:
        raise NotRun(machine.log("nvdec").strip()[-300:])
    return str(film)


def film_on_gpu(machine: Machine, name: str, memory: list[str]) -> dict:
    """A film that the GPU decodes, copies into slots of that memory, and draws."""
    result = stream(machine, name, [require_nvdec(machine)], [*NVDEC, "--loop", *memory], [*SMALL, *memory])
    if "(cuda)" not in machine.log(f"{name}-sender") or result["memory"] != ("cuda" if memory else "host"):
        raise Failed(f"frames lie in {result['memory']} memory, and the sender says {machine.log(f'{name}-sender')}")
    return result


def first_pictures(machine: Machine, name: str, film: str, send: list[str], view: list[str]) -> pathlib.Path:
    address, frames = free_address(), machine.output / f"{name}.raw"
    sender = machine.start(f"{name}-sender", "bin/framewire-send", film, "--listen", address, "--delivery", "every",
                           "--no-pace", *send)
    try:
        machine.run(f"{name}-viewer", "bin/framewire-view", address, "--headless", "--retry", "10", "--frames", "12",
                    "--delivery", "every", "--output", str(frames), *view)
    finally:
        os.kill(sender.pid, signal.SIGTERM)
        end(sender, LONGEST_END_S)
    return frames


def nvdec_is_exact(machine: Machine) -> dict:
    """Decoders of H.264 all give the same pictures, bit for bit."""
    film = require_nvdec(machine)
    files = [first_pictures(machine, "by-processor", film, ["--pix-fmt", "nv12"], []),
             first_pictures(machine, "by-nvdec", film, NVDEC, []),
             first_pictures(machine, "by-nvdec-in-gpu", film, [*NVDEC, *GPU], GPU)]
    pictures = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    if not pictures[0] or pictures[1:] != [pictures[0]] * 2:
        raise Failed("the pictures of NVDEC are not those of the processor")
    return {"pictures": 12, "bytes": len(pictures[0]), "as by the processor": True}


def streams_on_gpu(machine: Machine) -> dict:
    """Frames that come to host memory only where it is said."""
    return {
        "GPU memory: waves 4K60": lambda: on_gpu(machine, "gpu-waves", ["gl:waves"], UHD, SMALL),
        "GPU memory: waves 4K60, fast": lambda: on_gpu(machine, "gpu-fast", ["gl:waves"], UHD,
                                                       [*SMALL, "--quality", "fast"]),
        "GPU memory: aurora 4K60 nv12": lambda: on_gpu(machine, "gpu-nv12", ["gl:aurora"],
                                                       [*UHD, "--pix-fmt", "nv12"], UHD),
        "GPU memory: stamped 4K60, checked in host memory": lambda: on_gpu(
            machine, "gpu-stamped", ["pattern:stamped"], UHD, [*SMALL, "--verify"]),
        "GPU memory: six 4K60 in a grid of 1080p, fast": lambda: on_gpu(
            machine, "gpu-six", ["gl:waves"] * 6, [*UHD, *SIX],
            ["--layout", "grid", "--size", "1920x1080", "--quality", "fast"]),
        "GPU memory: bench, local": lambda: bench_of_gpu(machine),
        "NVDEC: the pictures are right": lambda: nvdec_is_exact(machine),
        "NVDEC: film 4K60": lambda: film_on_gpu(machine, "nvdec-host", []),
        "NVDEC: film 4K60, GPU memory": lambda: film_on_gpu(machine, "nvdec-gpu", GPU),
    }


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
    parser.add_argument("--seconds", type=int, default=10, help="how long each stream runs (default: 10)")
    parser.add_argument("--only", action="append", metavar="PART", help="run this part; repeat it for more")
    parser.add_argument("--skip", action="append", default=[], metavar="PART", help="do not run this part")
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
