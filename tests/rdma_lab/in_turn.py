"""in_turn.py -- COMMAND [ARGUMENT…] [-- COMMAND …]: runs commands one after another, also after one that fails.

One emulated machine runs several test programs so, because each start of a machine takes as long as most of them. The
exit status is 1 if any of them failed.
"""
import subprocess
import sys
import time


def commands(arguments: list[str]) -> list[list[str]]:
    parts: list[list[str]] = []
    for argument in arguments:
        if argument == "--":
            parts.append([])
        elif parts:
            parts[-1].append(argument)
        else:
            raise SystemExit(f"in_turn.py: {argument!r} is before the first --")
    if not parts or not all(parts):
        raise SystemExit("in_turn.py: it takes commands, each after a --")
    return parts


def main() -> int:
    failed = []
    for command in commands(sys.argv[1:]):
        words = " ".join(command)
        print(f"== {words}", flush=True)
        started = time.monotonic()
        status = subprocess.run(command, check=False).returncode
        print(f"== status {status} after {time.monotonic() - started:.0f} s", flush=True)
        if status != 0:
            failed.append(f"{words} ({status})")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
