#!/usr/bin/env python3
"""tests/fuzz/run.py PROGRAM SECONDS

Runs one fuzz target, starting from its seeds, from the inputs in tests/fuzz/corpus, and from what earlier runs kept in
the build folder. Prints executions, coverage and processor time. If it finds a fault, says how to repeat it.
"""
import pathlib
import re
import resource
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
# What any input may cost. The limits of memory are far above what good inputs take.
LIMITS = ["-timeout=20", "-rss_limit_mb=1500", "-malloc_limit_mb=16"]
DICTIONARIES = {
    "messages": "json",
    "rdpipe_agent": "json",
    "sender_session": "json",
    "viewer_session": "json",
    "options": "options",
    "scene": "scene",
}


def result_line(name: str, log: str, cpu_s: float) -> str:
    executions = re.findall(r"^stat::number_of_executed_units:\s+(\d+)", log, re.MULTILINE)
    coverage = re.findall(r"\bcov: (\d+)", log)
    done = executions[-1] if executions else "?"
    covered = coverage[-1] if coverage else "?"
    return f"{name}: {done} executions, coverage {covered}, {cpu_s:.0f} s of a processor"


def main() -> int:
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        print(__doc__)
        return 2
    program, seconds = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    name = program.name.removeprefix("fuzz_")
    build = program.parents[1]
    kept, crashes = build / "fuzz" / name, build / "fuzz" / "crashes"
    log_file = build / "fuzz" / f"{name}.log"
    for folder in (kept, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    given = [folder for folder in (build / "fuzz" / "seeds" / name, FOLDER / "corpus" / name) if folder.is_dir()]
    dictionary = [f"-dict={FOLDER}/{DICTIONARIES[name]}.dict"] if name in DICTIONARIES else []
    options = [f"-max_total_time={seconds}", *LIMITS, *dictionary, "-print_final_stats=1"]
    command = [program, *options, f"-artifact_prefix={crashes}/{name}-", kept, *given]
    with log_file.open("w") as log:
        status = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    text = log_file.read_text(errors="replace")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seed = re.findall(r"^INFO: Seed: (\d+)", text, re.MULTILINE)
    print(result_line(name, text, used.ru_utime + used.ru_stime) + f", seed {seed[0] if seed else '?'}")
    if status != 0:
        print("".join(text.splitlines(keepends=True)[-80:]))
        for crash in re.findall(r"Test unit written to (\S+)", text):
            print(f"To repeat it:  {program} {crash}")
            print(f"To keep it:    cp {crash} {FOLDER}/corpus/{name}/WHAT-IT-BROKE.bin")
    return 1 if status != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
