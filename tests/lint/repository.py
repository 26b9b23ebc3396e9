"""The repository's files, for the lints."""
import pathlib

CODE = {".hpp", ".cpp"}
GLSL = {".frag", ".vert", ".glsl"}


def root() -> pathlib.Path:
    return pathlib.Path(__file__).resolve().parents[2]


def files(top: pathlib.Path, suffixes: set[str] | None = None) -> list[pathlib.Path]:
    """Paths below `top`, relative to it, except built files and names that begin with a dot (other than .ci)."""
    found = []
    for path in sorted(top.iterdir()):
        if path.name == "build" or path.name == "__pycache__" or (path.name.startswith(".") and path.name != ".ci"):
            continue
        below = [p for p in sorted(path.rglob("*")) if "__pycache__" not in p.parts] if path.is_dir() else [path]
        found += [p.relative_to(top) for p in below if p.is_file() and (suffixes is None or p.suffix in suffixes)]
    return found


def report(findings: list[str], what: str) -> int:
    """Prints the findings, one per line; returns the exit status."""
    for finding in findings:
        print(finding)
    print(f"{what}: {len(findings)} finding{'' if len(findings) == 1 else 's'}")
    return 1 if findings else 0
