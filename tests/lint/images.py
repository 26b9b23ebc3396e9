#!/usr/bin/env python3
"""Checks that each picture that a document shows exists and is made by scripts/pictures, and that no other is kept."""
import pathlib
import posixpath
import re
import subprocess
import sys

import repository

IMAGES = pathlib.PurePath("docs/images")
# ![what it shows](path), and <img src="path">.
SHOWN = re.compile(r"!\[[^\]]*\]\(\s*<?([^)\s>]+)|<img\b[^>]*\bsrc=[\"']([^\"']+)")


def images_in(path: pathlib.PurePath, text: str) -> list[str]:
    """What a document shows, as paths from the top of the repository; not what is elsewhere in the net."""
    names = [markdown or html for markdown, html in SHOWN.findall(text)]
    return [posixpath.normpath((path.parent / name).as_posix()) for name in names if "://" not in name]


def findings_in(documents: dict[pathlib.PurePath, str], made: set[str], kept: set[str]) -> list[str]:
    """`made`: what scripts/pictures makes; `kept`: the files in docs/images."""
    findings, shown = [], set()
    for path, text in documents.items():
        for image in images_in(path, text):
            shown.add(image)
            if image not in kept:
                findings.append(f"{path}: shows {image}, which is not there")
            if image not in made:
                findings.append(f"{path}: shows {image}, which scripts/pictures does not make")
    return findings + [f"{image}: is shown by no document" for image in sorted((kept | made) - shown)]


def main() -> int:
    top = repository.root()
    documents = {path: (top / path).read_text(encoding="utf-8") for path in repository.files(top, {".md"})}
    made = subprocess.run([sys.executable, top / "scripts" / "pictures", "--list"], check=True, capture_output=True,
                          text=True).stdout.split()
    kept = {path.as_posix() for path in repository.files(top) if path.parent == IMAGES}
    return repository.report(findings_in(documents, set(made), kept), "images")


if __name__ == "__main__":
    sys.exit(main())
