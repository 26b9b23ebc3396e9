#!/usr/bin/env python3
"""Checks the direction of includes, the order of ARCHITECTURE.md's table, that sessions name no link, and where heavy
and third-party headers are included."""
import pathlib
import re
import sys

import repository

# What each folder may include besides itself. The longest matching folder applies to a file. An allowed folder covers
# only its own files, not its subfolders. An allowed header stands for itself alone: it is in PUBLIC.
BELOW_TRANSPORT = ["base", "frame", "memory", "input"]
LINK = BELOW_TRANSPORT + ["transport"]
PROGRAM = BELOW_TRANSPORT + ["transport", "transport/control", "transport/session", "command"]
WORK_REQUESTS = "transport/rdma/work_requests.hpp"
# Headers that some folders may include although they may not include the rest of that header's folder. These headers
# include nothing of it themselves.
PUBLIC = {WORK_REQUESTS}
ALLOWED = {
    "base": [],
    "frame": ["base"],
    "memory": ["base"],
    "memory/cuda": ["base", "memory"],
    "input": ["base"],
    "transport": BELOW_TRANSPORT,
    "transport/tls": LINK,
    "transport/control": LINK + ["transport/tls"],
    "transport/fake": LINK,
    "transport/local": LINK,
    "transport/tcp": LINK,
    "transport/rdma": LINK,
    "transport/session": LINK + ["transport/control", "transport/tls"],  # links come from the list of links
    "command": BELOW_TRANSPORT + ["memory/cuda", "transport"],
    "ssh": BELOW_TRANSPORT + ["transport", "transport/control", "command"],
    "shaders": [],
    "media": ["base", "frame", "memory", "memory/cuda"],
    "gl": ["base", "frame", "memory", "input", "shaders"],
    "sender/sources/gl": LINK + ["gl", "shaders", "sender"],
    "sender/sources/media": LINK + ["media", "sender"],
    "sender": PROGRAM + ["ssh", "sender/sources/gl", "sender/sources/media"],
    "viewer": PROGRAM + ["ssh", "media", "gl"],
    "bench/verbs": PROGRAM + [WORK_REQUESTS],  # the device itself, without a link
    "bench/xdp": ["base", "memory"],
    "bench": PROGRAM + [WORK_REQUESTS, "bench/verbs", "bench/xdp"],
    "bytes": PROGRAM,
    "rdpipe": PROGRAM + ["ssh", "bytes"],  # each connection of a pipeline is an rdsend and an rdrecv
    "cli": PROGRAM,
    "doctor/gl": ["base", "gl"],
    "doctor": PROGRAM + ["memory/cuda", "transport/rdma"],
    "library": PROGRAM,
}
# The list of links names every link. A session knows none of them.
LIST_OF_LINKS = "transport/links.cpp"
LINKS = ["transport/local", "transport/tcp", "transport/rdma"]
NAMES_NO_LINK = "transport/session"
LINK_NAME = re.compile(r"\b(?:LinkKind::\w+|rdma_\w*)")
# The folders of ARCHITECTURE.md's table besides.
OTHERS = ["tests", "scripts", "cmake", "docs", "examples", "python"]
# Tests mirror the folders: each may include what its folder may. Test folders without such a folder are listed here.
TESTS_OF = {
    "added_link": ["bench", "doctor", "rdpipe", "sender", "viewer", *LINKS],
    "command": ["command", "tests/cuda/stand_in.hpp"],
    "contract": ["transport/session", "transport/fake", *LINKS],
    "cuda": ["memory/cuda", "transport/session", "transport/fake", *LINKS],
    "data_path": ["transport/session", "transport/fake", *LINKS],
    "doctor": ["doctor", "tests/cuda/stand_in.hpp"],
    "sim": ["transport/session", "transport/tls", "transport/fake", *LINKS],
    "transport": ["transport/session", "transport/fake", "transport/control", "transport/tls", *LINKS],
    "nvdec": ["memory/cuda", "media", "sender", "sender/sources/media", "tests/cuda/machine.hpp",
              "tests/cuda/stand_in.hpp"],
    "vaapi": ["tests/nvdec/pattern.hpp"],
    "pixels": ["gl", "sender/sources/gl"],
    "device_memory": ["gl", "memory/cuda", "sender/sources/gl", "tests/cuda/stand_in.hpp"],
    "gpu": ["gl", "memory/cuda"],
    "sender": ["sender", "sender/sources/gl", "sender/sources/media"],
    "rdma_lab": ["transport/session", "transport/fake", *LINKS],
    "e2e": ["media"],
    "fuzz": ["transport/session", *LINKS, "media", "ssh", "rdpipe", "sender", "viewer", "bench", "doctor", "bytes",
             "library"],
}
# Third-party headers, and the folders (with their subfolders) that may include them.
FOREIGN = [
    (r"(infiniband|rdma)/", ["transport/rdma", "bench/verbs", "library"]),
    (r"lib(av|sw)\w+/", ["media"]),
    (r"(glad|GL|GLES\d?|EGL|KHR)/", ["gl", "viewer", "sender/sources/gl"]),
    (r"libplacebo/", ["gl"]),
    (r"(GLFW/|imgui|backends/imgui|stb/|stb_|toml\+\+/)", ["viewer"]),
    (r"(cuda|nvcuvid|nvml)", ["memory", "gl", "media"]),
    (r"openssl/", ["transport/tls"]),
]
# Headers that take seconds to compile: never in a header.
HEAVY = re.compile(r"(nlohmann/json\.hpp|toml\+\+/|CLI/|spdlog/|lib(av|sw)\w+/)")
# media's internal header for libav's types.
HEAVY_MAY = {"media/libav.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path: str) -> str:
    """The longest folder of ALLOWED that contains `path`; empty if there is none."""
    fitting = [folder for folder in ALLOWED if path.startswith(folder + "/")]
    return max(fitting, key=len, default="")


def is_within(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder + "/") for folder in folders)


def tested_folders(path: str) -> list[str]:
    """The folders whose rules apply to a file below tests/."""
    name = path.split("/")[1]
    return TESTS_OF.get(name, [name])


def own_include_finding(path: str, included: str) -> str | None:
    target = folder_of(included)
    if path.startswith("tests/"):
        folders = tested_folders(path)
        allowed = {part for folder in folders for part in [folder, *ALLOWED.get(folder, [])]}
        # A header that tests share counts as the folders that it helps to test.
        shared = tested_folders(included) if included.startswith("tests/") else [target]
        shared = [folder for folder in shared if not folder.endswith(".hpp")]
        good = included in allowed or all(folder in allowed for folder in shared)
        own = path.split("/")[1]
        return None if good else f"tests/{own}/ stands for {', '.join(folders)}, which may not include it"
    own = folder_of(path)
    if not own:
        return "its folder is not in ALLOWED of tests/lint/include_direction.py"
    if not target:
        return "paths start at the root of the repository, in a folder of the tree"
    if path == LIST_OF_LINKS and target in LINKS:
        return None
    if target == own:
        return f"{path} is public, and includes nothing of {own}/" if path in PUBLIC else None
    if target in ALLOWED[own] or included in ALLOWED[own]:
        return None
    headers = [header for header in ALLOWED[own] if header in PUBLIC and folder_of(header) == target]
    return f"{own}/ may not include {target}/" + (f" but for {', '.join(headers)}" if headers else "")


def foreign_finding(path: str, included: str) -> str | None:
    places = tested_folders(path) if path.startswith("tests/") else None
    for pattern, folders in FOREIGN:
        if re.match(pattern, included):
            good = is_within(path, folders) if places is None else any(is_within(p + "/", folders) for p in places)
            if not good:
                return f"it belongs in {', '.join(f + '/' for f in folders)} only"
    if path.endswith(".hpp") and HEAVY.match(included) and path not in HEAVY_MAY:
        return "it is heavy, and belongs in .cpp files only"
    return None


def findings_in(path: str, text: str) -> list[str]:
    findings = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            kind, included = match.groups()
            reason = foreign_finding(path, included)
            if reason is None and kind == '"':
                reason = own_include_finding(path, included)
            if reason is not None:
                findings.append(f"{path}:{number}: includes {included}: {reason}")
        elif path.startswith(NAMES_NO_LINK + "/") and LINK_NAME.search(line):
            findings.append(f"{path}:{number}: names a link; ask for one of its LinkTraits")
    return findings


def rows_of(page: str) -> dict[str, int]:
    """The folders in the first column of ARCHITECTURE.md's table, and the row that each stands in."""
    first_columns = re.findall(r"^\| (`[^|]*/`) \|", page, re.M)
    return {folder: row for row, column in enumerate(first_columns) for folder in re.findall(r"`([\w/]+)/`", column)}


def table_findings(page: str) -> list[str]:
    """Whether ARCHITECTURE.md's table says the same as ALLOWED: every folder, and none below what it may include."""
    rows = rows_of(page)
    findings = [f"ARCHITECTURE.md's table lacks {folder}/" for folder in sorted({*ALLOWED, *OTHERS} - {*rows})]
    findings += [f"ARCHITECTURE.md's table has {folder}/, which this lint does not know"
                 for folder in sorted({*rows} - {*ALLOWED, *OTHERS})]
    for folder, included in ((folder, each) for folder, allowed in ALLOWED.items() for each in allowed):
        if folder in rows and included in rows and rows[included] > rows[folder]:
            findings.append(f"ARCHITECTURE.md's table has {folder}/ above {included}/, which it may include")
    return findings


def main() -> int:
    top = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else repository.root()
    findings = table_findings((top / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    for path in repository.files(top, repository.CODE):
        findings += findings_in(path.as_posix(), (top / path).read_text(encoding="utf-8"))
    return repository.report(findings, "include direction")


if __name__ == "__main__":
    sys.exit(main())
