#!/usr/bin/env python3
"""Checks every file: short, self-contained, and only about the product."""
import os
import pathlib
import re
import sys

import repository

MOST_LINES = 500
MAX_COLUMNS = 120  # of documents, rows of tables among them
# References that a reader cannot follow: folders of one machine, numbers of another tracker.
FOREIGN_WORDS = re.compile(r"/[w]ork/|\.\./[s]hared\b|\b[i]ssues? #?\d+\b|\bsession (?:one|two|three)\b")
UNFINISHED = re.compile(r"\b(?:[T]ODO|[F]IXME|[X]XX)\b")
# Names that readers who know the field stumbled over, and the field's word for each: they must not come back. As words,
# or as parts of an identifier.
ODD_NAMES = {
    "stranger": "unauthenticated peer", "visitor": "pending connection", "guest_row": "bench_protocol",
    "outlet": "subscriber queue", "guest_data": "bench_protocol", "guest_messages": "bench_protocol",
    "most_guest": "bench_protocol", "serve_guest": "BenchServer", "push_feed": "PushSubscription",
    "pull_feed": "PullSubscription", "taker": "receiver label", "look_again": "poll", "patience": "timeout",
    "farewell": "shutdown", "see_off": "drain", "say_bye": "shutdown", "let_go": "release", "wishes": "preferences",
    "wished": "requested", "rdma_doubt": "LinkFallbackPolicy", "rdma_watch": "maintain",
    "stall_watch": "stall detector", "rdma_grants": "MemoryAccess", "rdma_exposure": "MemoryAccess",
    "raw_news": "completion", "data_way": "data path", "way_words": "address hints", "pull_board": "FrameDirectory",
    "one_at_a_time": "max_in_flight = 1", "home_watch": "ControllerLiveness", "check_pulse": "check_liveness",
    "hearsay": "secondary cause", "forgive": "extend_deadline", "orders_fd": "control_fd", "reports_fd": "status_fd",
    "byte_convention": "byte protocol", "heeded": "not ignored", "last_words": "final report",
    "pacer": "rate limiter", "newcomer": "unanswered peer", "house": "repository",
}
ODD_NAME = re.compile(r"(?<![a-z])(" + "|".join(ODD_NAMES) + r")s?(?![a-z])")
SPEAK_OF_THEM = {"CHANGELOG.md", "LICENSE", "tests/lint/tree.py", "tests/lint/lint_test.py"}
BINARY = {".bin", ".png", ".jpg", ".mkv", ".mp4", ".y4m"}


def odd_names_in(path: pathlib.PurePath, line: str) -> list[str]:
    as_words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", line).lower()  # LetGo -> let_go
    return [] if path.as_posix() in SPEAK_OF_THEM else ODD_NAME.findall(as_words)


# Programs that use the C library may fork at any moment: base/file_descriptor.hpp says how its folders open files.
MAY_BE_FORKED = {"base", "frame", "input", "library", "memory", "transport"}
OPENED_UNSAFELY = re.compile(
    r"(?:FileDescriptor(?: \w+)?|\w+_|reset)\(::(?!dl)\w+\(|\bstd::(?:basic_)?[io]?fstream\b|\bfopen\(")


def findings_in(path: pathlib.PurePath, text: str, is_executable: bool) -> list[str]:
    findings = []
    lines = text.splitlines()
    if (path.suffix in repository.CODE | repository.GLSL | {".py", ".cmake"}
        or path.parts[0] == "scripts") and len(lines) > MOST_LINES:
        findings.append(f"{path}: {len(lines)} lines, more than {MOST_LINES}: is it one idea?")
    for number, line in enumerate(lines, 1):
        if path.suffix == ".md" and len(line) > MAX_COLUMNS and "http" not in line:
            findings.append(f"{path}:{number}: {len(line)} columns, more than {MAX_COLUMNS}")
        findings += [f"{path}:{number}: '{name}' is a name of our own; the field says {ODD_NAMES[name]}"
                     for name in odd_names_in(path, line)]
        if path.suffix in repository.CODE and path.parts[0] in MAY_BE_FORKED and OPENED_UNSAFELY.search(line):
            findings.append(f"{path}:{number}: a child forked meanwhile keeps this; open it by FileDescriptor::from")
        for pattern, reason in ((FOREIGN_WORDS, "speaks of a place that the reader does not have"),
                                (UNFINISHED, "is unfinished")):
            match = pattern.search(line)
            if match:
                findings.append(f"{path}:{number}: '{match.group()}' {reason}")
    if path.suffix == ".hpp" and "#pragma once" not in lines:
        findings.append(f"{path}: no #pragma once")
    if text and not text.endswith("\n"):
        findings.append(f"{path}: no newline at its end")
    if is_executable != text.startswith("#!"):
        findings.append(f"{path}: executable and beginning with #! go together")
    return findings


# They define what a header of C declares: framewire.h, or one of another library.
OF_C_HEADERS = {"library/interface.cpp", "library/verbs.cpp", "library/compiled_in.cpp"}


def without_header(sources: dict[str, str], headers: set[str]) -> list[str]:
    """Every .cpp has the header of its name, or is a part of one: check_host.cpp of check.hpp. Programs have none.
    `sources` maps paths to texts."""
    findings = []
    for path, text in sources.items():
        words = path.removesuffix(".cpp").split("_")
        names = {"_".join(words[:count]) + ".hpp" for count in range(1, len(words) + 1)}
        needs_none = path in OF_C_HEADERS or path.startswith("tests/") or re.search(r"^int main\(", text, re.M)
        if not needs_none and not names & headers:
            findings.append(f"{path}: no header has its name")
    return findings


NAMESPACE = re.compile(r"^namespace ([\w:]+) \{")
NAMESPACE_END = re.compile(r"^\}\s+// namespace")
DEFINED_CLASS = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: : .*)? \{")


def classes_defined_twice(headers: dict[str, str]) -> list[str]:
    """Two classes of one name in a namespace end up in one program some day, which then takes one for the other."""
    findings = []
    places: dict[str, str] = {}
    for path, text in headers.items():
        namespaces: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            if match := NAMESPACE.match(line):
                namespaces.append(match.group(1))
            elif NAMESPACE_END.match(line):
                namespaces.pop()
            elif match := DEFINED_CLASS.match(line):
                name = "::".join([*namespaces, match.group(1)])
                if name in places:
                    findings.append(f"{path}:{number}: {places[name]} has a class {name}, too")
                places.setdefault(name, path)
    return findings


def missing_paths(top: pathlib.Path, page: str) -> list[str]:
    """Files that ARCHITECTURE.md names and that are not there: its lists must stay true."""
    named = sorted(set(re.findall(r"(?<![\w./])(?:[\w-]+/)+[\w-]+\.(?:cpp|hpp|frag|py|txt|md)\b", page)))
    return [f"ARCHITECTURE.md names {path}, which is not there" for path in named if not (top / path).is_file()]


def main() -> int:
    top = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else repository.root()
    findings = []
    for path in repository.files(top):
        if path.suffix not in BINARY:
            text = (top / path).read_text(encoding="utf-8")
            findings += findings_in(path, text, os.access(top / path, os.X_OK))
    code = [path.as_posix() for path in repository.files(top, repository.CODE)]
    sources = {path: (top / path).read_text(encoding="utf-8") for path in code if path.endswith(".cpp")}
    headers = [path for path in code if path.endswith(".hpp")]
    findings += classes_defined_twice({path: (top / path).read_text(encoding="utf-8") for path in headers
                                       if not path.startswith("tests/")})
    findings += without_header(sources, set(headers))
    findings += missing_paths(top, (top / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    return repository.report(findings, "tree")


if __name__ == "__main__":
    sys.exit(main())
