"""Finds the links in documents."""
import pathlib
import re

LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"^[a-z]+:")


def links_in(text: str) -> list[str]:
    """Links to files, without fragments."""
    targets = [target.partition("#")[0] for target in LINK.findall(text) if not ELSEWHERE.match(target)]
    return [target for target in targets if target]


def broken_links(folder: pathlib.Path) -> list[str]:
    """Links to missing files, or to files outside the folder."""
    folder = folder.resolve()
    broken = []
    for document in sorted(folder.rglob("*.md")):
        for target in links_in(document.read_text(encoding="utf-8")):
            place = (document.parent / target).resolve()
            if not place.exists() or not place.is_relative_to(folder):
                broken.append(f"{document.relative_to(folder)}: {target}")
    return broken
