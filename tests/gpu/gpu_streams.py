"""Streams of scripts/gpu-check whose frames lie in host memory."""
from __future__ import annotations

import json
import os
import pathlib
import re
import signal

from gpu_machine import LONGEST_END_S, Failed, GpuLoad, Machine, end, free_address

UHD = ["--size", "3840x2160"]
SMALL = ["--size", "960x540"]
SIX = [word for i in range(6) for word in ("--name", f"s{i}")]


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
           scene: str | None = None, seconds: int | None = None) -> dict:
    """One sender and a headless viewer of all its streams, or a viewer for each of them, for a while."""
    seconds = seconds or machine.seconds
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
                                  "--duration", str(seconds), "--retry", "10", "--stats", str(stats[i]), *view,
                                  "--screenshot", str(machine.output / f"{name}-{i}.png")))
            ends = [end(process, seconds + LONGEST_END_S) for process in processes]
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
        "CPU of a core: sender, viewers": [round(sender_cpu_s / seconds, 3),
                                           round(sum(cpu_s for _, cpu_s in ends) / seconds, 3)],
        "GPU load (%)": load.mean(),
        "source": re.findall(r"^stream .*", machine.log(f"{name}-sender"), re.MULTILINE)[0],
    }


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
