"""Parts of scripts/gpu-check whose frames lie in the GPU's memory."""
from __future__ import annotations

import glob
import json
import os
import pathlib
import re
import shutil
import signal
import time

from gpu_machine import LONGEST_END_S, Failed, Machine, NotRun, end, free_address
from gpu_report import BENCH, MINUTE, STREAM_SPEED
from gpu_report import SIX as SIX_STREAMS
from gpu_streams import SIX, SMALL, UHD, stream

GPU = ["--memory", "cuda"]
FILM = "film.mkv"  # tests/gpu/bundle.py makes it
NVDEC = ["--hwaccel", "cuda"]


def require_cuda(machine: Machine) -> None:
    """Whether the programs take --memory cuda here."""
    def ask() -> None:
        try:
            machine.run("gpu-memory", "bin/framewire-bench", "--transport", "local", "--count", "1", "--message-bytes",
                        "1", *GPU)
        except Failed:
            raise NotRun(machine.log("gpu-memory").strip()[-300:]) from None

    machine.ask_once("cuda", ask)


def on_gpu(machine: Machine, name: str, sources: list[str], send: list[str], view: list[str],
           seconds: int | None = None) -> dict:
    """A stream whose frames lie in the GPU's memory at both ends. With --verify the viewer copies them to host memory.
    """
    require_cuda(machine)
    result = stream(machine, name, sources, [*send, *GPU], [*view, *GPU], seconds=seconds)
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


def speed_of_stream(machine: Machine) -> dict:
    """Between two programs, beside copies within the GPU."""
    require_cuda(machine)
    return json.loads(machine.run("gpu-stream-speed", "tests/gpu_stream_speed"))


def first_pictures(machine: Machine, name: str, source: str, send: list[str], view: list[str]) -> pathlib.Path:
    address, frames = free_address(), machine.output / f"{name}.raw"
    sender = machine.start(f"{name}-sender", "bin/framewire-send", source, "--listen", address, "--delivery", "every",
                           "--no-pace", *send)
    try:
        machine.run(f"{name}-viewer", "bin/framewire-view", address, "--headless", "--retry", "10", "--frames", "12",
                    "--delivery", "every", "--output", str(frames), *view)
    finally:
        os.kill(sender.pid, signal.SIGTERM)
        end(sender, LONGEST_END_S)
    if "cuda" in view and "memory=cuda " not in machine.log(f"{name}-viewer"):
        raise Failed(f"the frames do not come in GPU memory: {machine.log(f'{name}-viewer').strip()[-300:]}")
    return frames


def pictures_of_gpu_memory(machine: Machine) -> dict:
    """Frames, and what is drawn of them, are the same as those in host memory, bit for bit."""
    require_cuda(machine)
    compared = 0
    for source, pixel_format in (("gl:waves", "rgba"), ("gl:aurora", "nv12"), ("gl:orbit", "yuv420p"),
                                 ("gl:waves", "p010le"), ("pattern", "p010le"), ("pattern", "uyvy422")):
        seen = []
        for name, memory in (("by-host", []), ("by-gpu", GPU)):
            send = ["--size", "1280x720", "--pix-fmt", pixel_format, *memory]
            picture = machine.output / f"{name}.png"
            first_pictures(machine, name, source, send, [*SMALL, *memory, "--screenshot", str(picture)])
            frames = first_pictures(machine, name, source, send, memory)
            seen.append((frames.read_bytes(), picture.read_bytes()))
            frames.unlink()
        for what, host, gpu in zip(("frames", "drawn pictures"), *seen):
            if not host or host != gpu:
                raise Failed(f"{source} as {pixel_format}: the {what} in GPU memory are not those in host memory")
        compared += 1
    return {"sources and formats": compared, "as in host memory": True}


# ---- compute-sanitizer ----


def sanitizer() -> str:
    """NVIDIA's checker of memory errors, from CUDA's toolkit."""
    found = [shutil.which("compute-sanitizer"), *glob.glob("/usr/local/cuda*/bin/compute-sanitizer"),
             *glob.glob("/usr/local/cuda*/compute-sanitizer/compute-sanitizer")]
    for program in found:
        if program:
            return program
    raise NotRun("there is no compute-sanitizer; CUDA's toolkit has it")


def findings(machine: Machine, name: str) -> dict:
    """What it reported of one program. Calls that fail are none: the programs ask drivers for what they may not have.
    """
    text = machine.log(name)
    totals = [int(count) for count in re.findall(r"^=+ ERROR SUMMARY: (\d+) error", text, re.MULTILINE)]
    if not totals:
        raise Failed(f"compute-sanitizer gave no summary: {text.strip()[-300:]}")
    calls = re.findall(r"^=+ Program hit (\S+) .*?(?:on|to) CUDA API call to (\w+)", text, re.MULTILINE)
    if sum(totals) > len(calls):
        raise Failed(f"compute-sanitizer reports {sum(totals) - len(calls)} errors; see {name}.log")
    return {"errors": 0, "calls that gave an error": sorted({f"{call}: {error}" for error, call in calls})}


def sanitized(machine: Machine) -> dict:
    """A sender, a viewer and a benchmark, one at a time under compute-sanitizer, which makes each slow."""
    under = (sanitizer(), "--tool", "memcheck", "--leak-check", "full", "--target-processes", "all", "--print-limit",
             "0")
    require_cuda(machine)
    send = ["bin/framewire-send", "gl:waves", "--size", "1280x720", *GPU, "--listen"]
    view = ["bin/framewire-view", "--headless", "--frames", "30", "--retry", "60", *GPU]
    address = free_address()
    sender = machine.start("sanitized-plain-sender", *send, address)
    try:
        machine.run("sanitized-viewer", *view, address, under=under, timeout_s=60)
    finally:
        os.kill(sender.pid, signal.SIGTERM)
        end(sender, LONGEST_END_S)
    address = free_address()
    viewer = machine.start("sanitized-plain-viewer", *view, address)
    try:
        machine.run("sanitized-sender", *send, address, "--duration", "15s", under=under, timeout_s=60)
    finally:
        status, _ = end(viewer, LONGEST_END_S)
    if status != 0:
        raise Failed(f"the viewer ended with {status}: {machine.log('sanitized-plain-viewer').strip()[-300:]}")
    machine.run("sanitized-bench", "bin/framewire-bench", "--transport", "local", *GPU, "--message-bytes", "1M",
                "--count", "50", "--touch", under=under, timeout_s=60)
    return {program: findings(machine, f"sanitized-{program}") for program in ("sender", "viewer", "bench")}


# ---- NVDEC ----


def require_nvdec(machine: Machine) -> str:
    """The film, if this GPU decodes it. It has no viewer here, and is decoded up to its first picture."""
    def ask() -> str:
        film = machine.programs / FILM
        if not film.exists():
            raise NotRun(f"there is no {film}; scripts/gpu-check --prepare makes it")
        sender = machine.start("nvdec", "bin/framewire-send", str(film), *NVDEC, "--listen", free_address())
        time.sleep(3)
        os.kill(sender.pid, signal.SIGTERM)
        if end(sender, LONGEST_END_S)[0] != 0:
            raise NotRun(machine.log("nvdec").strip()[-300:])
        return str(film)

    return machine.ask_once("nvdec", ask)


def film_on_gpu(machine: Machine, name: str, memory: list[str]) -> dict:
    """A film that the GPU decodes, copies into slots of that memory, and draws."""
    result = stream(machine, name, [require_nvdec(machine)], [*NVDEC, "--loop", *memory], [*SMALL, *memory])
    if "(cuda)" not in machine.log(f"{name}-sender") or result["memory"] != ("cuda" if memory else "host"):
        raise Failed(f"frames lie in {result['memory']} memory, and the sender says {machine.log(f'{name}-sender')}")
    return result


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


def what_runs(machine: Machine) -> dict:
    """What the parts need, and why it is not there."""
    answers = {}
    for name, ask in (("--memory cuda", lambda: require_cuda(machine)), ("NVDEC", lambda: require_nvdec(machine)),
                      ("compute-sanitizer", sanitizer)):
        try:
            ask()
            answers[name] = "runs"
        except NotRun as reason:
            answers[name] = f"does not run: {reason}"
    return answers


def streams_on_gpu(machine: Machine) -> dict:
    """Frames that come to host memory only where it is said."""
    return {
        "GPU memory: waves 4K60": lambda: on_gpu(machine, "gpu-waves", ["gl:waves"], UHD, SMALL),
        "GPU memory: waves 4K60, fast": lambda: on_gpu(machine, "gpu-fast", ["gl:waves"], UHD,
                                                       [*SMALL, "--quality", "fast"]),
        MINUTE: lambda: on_gpu(machine, "gpu-minute", ["gl:waves"], UHD, SMALL, 60),
        "GPU memory: aurora 4K60 nv12": lambda: on_gpu(machine, "gpu-nv12", ["gl:aurora"],
                                                       [*UHD, "--pix-fmt", "nv12"], UHD),
        "GPU memory: stamped 4K60, checked in host memory": lambda: on_gpu(
            machine, "gpu-stamped", ["pattern:stamped"], UHD, [*SMALL, "--verify"]),
        SIX_STREAMS: lambda: on_gpu(
            machine, "gpu-six", ["gl:waves"] * 6, [*UHD, *SIX],
            ["--layout", "grid", "--size", "1920x1080", "--quality", "fast"]),
        "GPU memory: six 4K60 in a grid of 1080p": lambda: on_gpu(
            machine, "gpu-six-good", ["gl:waves"] * 6, [*UHD, *SIX], ["--layout", "grid", "--size", "1920x1080"]),
        "GPU memory: the pictures are right": lambda: pictures_of_gpu_memory(machine),
        BENCH: lambda: bench_of_gpu(machine),
        STREAM_SPEED: lambda: speed_of_stream(machine),
        "GPU memory: compute-sanitizer": lambda: sanitized(machine),
        "NVDEC: the pictures are right": lambda: nvdec_is_exact(machine),
        "NVDEC: film 4K60": lambda: film_on_gpu(machine, "nvdec-host", []),
        "NVDEC: film 4K60, GPU memory": lambda: film_on_gpu(machine, "nvdec-gpu", GPU),
    }
