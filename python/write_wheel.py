#!/usr/bin/env python3
"""Writes a wheel (PEP 427), for scripts/wheel: write_wheel.py PACKAGE LIBRARY LICENSE VERSION FOLDER

PACKAGE is the package's folder, with the extension. LIBRARY is libframewire.so.0, which comes to lie beside it.
"""
import base64
import hashlib
import pathlib
import platform
import subprocess
import sys
import tempfile
import zipfile

TAG = f"cp311-abi3-linux_{platform.machine()}"
SUMMARY = "Uncompressed frames between programs, on one machine without a copy, and between machines"


def metadata(version: str) -> str:
    return (f"Metadata-Version: 2.1\nName: framewire\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
            "License-File: LICENSE\nRequires-Python: >=3.11\nProvides-Extra: numpy\n"
            "Requires-Dist: numpy; extra == 'numpy'\n")


def stripped(binary: pathlib.Path) -> bytes:
    with tempfile.NamedTemporaryFile() as output:
        subprocess.run(["strip", "--strip-unneeded", "-o", output.name, binary], check=True)
        return pathlib.Path(output.name).read_bytes()


def contents(package: pathlib.Path, library: pathlib.Path, licence: pathlib.Path, version: str) -> dict[str, bytes]:
    """The files of the wheel but for RECORD."""
    files = {f"framewire/{path.name}": stripped(path) if path.suffix == ".so" else path.read_bytes()
             for path in sorted(package.iterdir()) if path.is_file()}
    # Programs and the extension ask for this name.
    files["framewire/libframewire.so.0"] = stripped(library)
    information = f"framewire-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: framewire ({version})\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    return files | {f"{information}/METADATA": metadata(version).encode(), f"{information}/WHEEL": wheel.encode(),
                    f"{information}/LICENSE": licence.read_bytes()}


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main() -> int:
    package, library, licence, folder = (pathlib.Path(sys.argv[i]) for i in (1, 2, 3, 5))
    version = sys.argv[4]
    files = contents(package, library, licence, version)
    record = f"framewire-{version}.dist-info/RECORD"
    files[record] = ("".join(record_line(*item) for item in files.items()) + f"{record},,\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"framewire-{version}-{TAG}.whl"
    # The same files give the same wheel.
    when = (1980, 1, 1, 0, 0, 0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            archive.writestr(entry, data)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
