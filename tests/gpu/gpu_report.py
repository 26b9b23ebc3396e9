"""What scripts/gpu-check saw, beside the goals, and as tables for docs/gpu-results.md."""
from __future__ import annotations

from typing import Callable, NamedTuple, Optional

MINUTE = "GPU memory: waves 4K60, a minute"
SIX = "GPU memory: six 4K60 in a grid of 1080p, fast"
STREAM_SPEED = "GPU memory: stream beside copies"
BENCH = "GPU memory: bench, local"
COPIES = "copy speed, 3840x2160 rgba (ms)"


class Goal(NamedTuple):
    text: str
    part: str
    measured: Callable[[dict], float]  # raises KeyError, or ValueError for a text, where that was not measured
    is_met: Callable[[float], bool]


def readback_beside_cuda(copies: dict) -> float:
    """Time of CUDA's copy divided by that of the whole readback, of which two are in flight."""
    return round(copies["readback, cuMemcpyDtoH"] / float(copies["readback, GPU copies, slices 1, two in flight"]), 3)


GOALS = [
    Goal("33 MB frames in GPU memory, one machine: at least 0.8 of the bandwidth of copies within the GPU",
         STREAM_SPEED, lambda result: result["ratio"], lambda ratio: ratio >= 0.8),
    Goal("from publish to next(), without the copy: at most 30 us (p50)", BENCH,
         lambda result: result["latency, 33177600 bytes"]["latency p50 (us)"], lambda us: us <= 30),
    Goal("4K60 in GPU memory: sender and viewer at most 0.05 of a core each", MINUTE,
         lambda result: max(result["CPU of a core: sender, viewers"]), lambda cores: cores <= 0.05),
    Goal("4K60 in GPU memory, a minute: no frame skipped", MINUTE, lambda result: result["skipped"],
         lambda frames: frames == 0),
    Goal("readback to host memory: at least 0.9 of the speed of CUDA's copy", COPIES, readback_beside_cuda,
         lambda ratio: ratio >= 0.9),
    Goal("six 4K60 streams in one window: no frame skipped", SIX, lambda result: result["skipped"],
         lambda frames: frames == 0),
]


def why_not(result: dict | list[str], keys: list[str]) -> str:
    """Why a part failed or was not run, if it has one of these keys. Counts of tests are no reason."""
    if isinstance(result, list):
        return ""
    return next((result[key] for key in keys if isinstance(result.get(key), str)), "")


def goals(results: dict) -> list[dict]:
    """One row for each goal: what was measured, and whether that is enough."""
    rows = []
    for goal in GOALS:
        result = results.get(goal.part, {"not run": "the part was left out"})
        measured: Optional[float] = None
        reason = why_not(result, ["not run", "failed"])
        verdict = f"not measured: {reason}"
        if not reason:
            try:
                measured = goal.measured(result)
                verdict = "met" if goal.is_met(measured) else "missed"
            except (KeyError, ValueError, ZeroDivisionError) as error:
                verdict = f"not measured: {error}"
        rows.append({"goal": goal.text, "measured": measured, "verdict": verdict})
    return rows


# ---- Tables ----


def table(titles: list[str], rows: list[list[str]]) -> str:
    def text_of(cell: str) -> str:
        return " ".join(cell.split()).replace("|", "/")

    lines = [titles, ["---"] * len(titles), *rows]
    return "".join("| " + " | ".join(map(text_of, line)) + " |\n" for line in lines)


def stream_row(name: str, result: dict) -> list[str]:
    stages = result["stages p50 (ms)"]
    of_stages = [str(stages.get(stage, "-")) for stage in ("upload", "present")]
    cores = ", ".join(f"{used:.2f}" for used in result["CPU of a core: sender, viewers"])
    load = "-" if result["GPU load (%)"] is None else f"{result['GPU load (%)']} %"
    return [name, str(result["fps"]), f"{result['shown']}; {result['skipped']}; {result['superseded']}",
            ", ".join(str(ms) for ms in result["latency p50, p99 (ms)"]), *of_stages, cores, load]


def plain(result: dict | list[str]) -> str:
    if isinstance(result, list):
        return "; ".join(result)
    return "; ".join(f"{key}: {value}" for key, value in result.items())


def tables(results: dict) -> str:
    """Markdown: streams, all else, and the goals."""
    is_stream = {name: isinstance(result, dict) and "CPU of a core: sender, viewers" in result
                 for name, result in results.items()}
    streams = [stream_row(name, result) for name, result in results.items() if is_stream[name]]
    others = [[name, plain(result)] for name, result in results.items() if not is_stream[name]]
    judged = [[row["goal"], "-" if row["measured"] is None else f"{row['measured']:g}", row["verdict"]]
              for row in goals(results)]
    titles = ["stream", "fps", "shown; skipped; superseded", "to shown: p50, p99 (ms)", "upload", "present",
              "cores: sender, viewers", "GPU"]
    return "\n".join([table(titles, streams), table(["part", "result"], others),
                      table(["goal", "measured", "verdict"], judged)])
