#!/usr/bin/env python3
"""Checks that error messages and the doctor's findings are short, and free of words that readers stumbled over."""
import pathlib
import re
import sys

import repository

MOST_WORDS = 25
ODD_WORDS = re.compile(r"\b(?:is to take|whoever|in the clear|which is none|tcp alone|rdma alone|leave it away)\b")
STRING = r'"(?:[^"\\\n]|\\.)*"'
# What ends a session or a program.
ERROR = re.compile(r"\b(?:Error(?:::(?:failed|usage|refused|lost_peer))?|refuse|fail)\(")


def call_at(text: str, begin: int) -> str:
    """The arguments of a call, whose opening parenthesis is just before `begin`."""
    depth = 1
    for token in re.finditer(rf"{STRING}|[()]", text[begin:]):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth == 0:
            return text[begin : begin + token.start()]
    return ""


def literals(code: str) -> list[str]:
    """Its string literals; adjacent ones are one."""
    return ["".join(part[1:-1] for part in re.findall(STRING, run))
            for run in re.findall(rf"{STRING}(?:\s*{STRING})*", code)]


def findings_in(path: pathlib.PurePath, text: str) -> list[str]:
    findings = []

    def check(message: str, offset: int) -> None:
        where = f"{path}:{text.count(chr(10), 0, offset) + 1}"
        if (words := len(message.split())) > MOST_WORDS:
            findings.append(f"{where}: a message of {words} words, more than {MOST_WORDS}: {message}")
        if odd := ODD_WORDS.search(message):
            findings.append(f"{where}: '{odd.group()}' in a message; say it in the field's words")

    for call in ERROR.finditer(text):
        check(" ".join(literals(call_at(text, call.end()))), call.start())
    if path.match("doctor/check*.cpp"):
        for run in re.finditer(rf"{STRING}(?:\s*{STRING})*", text):
            (message,) = literals(run.group())
            for sentence in re.split(r"(?<=\.) |(?<=\.\)) ",
                                     message) if not re.match(r"printf |sudo |echo ", message) else []:
                check(sentence, run.start())
    return findings


def main() -> int:
    top = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else repository.root()
    findings = []
    for path in repository.files(top, repository.CODE):
        if path.parts[0] != "tests":
            findings += findings_in(path, (top / path).read_text(encoding="utf-8"))
    return repository.report(findings, "messages")


if __name__ == "__main__":
    sys.exit(main())
