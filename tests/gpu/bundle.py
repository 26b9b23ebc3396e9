#!/usr/bin/env python3
"""tests/gpu/bundle.py BUILD FOLDER

Packs the programs and tests of a build that scripts/gpu-check runs, a film for them, and the libraries that they need,
into FOLDER/programs.tar.xz. They then run on a machine without a package manager. Left out are the C library, which
every machine has, and OpenGL drivers.

Coders and filters that no check uses would make it three times as large. Empty libraries stand in for theirs: they have
the same names and symbols, and a call of one ends the program.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = ["bin/framewire", "bin/framewire-send", "bin/framewire-view", "bin/framewire-doctor", "bin/framewire-bench",
            "bin/framewire-doctor-gl", "tests/test_pixels", "tests/test_sender_gl", "tests/test_viewer",
            "tests/gpu_copy_speed", "tests/gpu_cuda_probe", "tests/gpu_stream_speed"]
FILM = "film.mkv"
# Programs find libGL and libEGL when they run, so that ldd does not name them. These are glvnd's, not a driver's.
FOUND_LATER = ["libEGL.so.1", "libGL.so.1", "libGLX.so.0", "libOpenGL.so.0", "libGLdispatch.so.0"]
OF_EVERY_MACHINE = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libresolv)\.so")
UNUSED = re.compile(
    r"lib(SvtAv1Enc|rav1e|codec2|rsvg-2|jxl|jxl_threads|flite\w*|lapack|blas|gfortran|"
    r"shaderc\w*|glslang|SPIRV\w*|samplerate|SDL2-2\.0|openmpt|db-5\.3|gnutls|pocketsphinx|sphinxbase|gio-2\.0|"
    r"slang|caca|openal|pulse\w*|jack|bluray|chromaprint|srt-gnutls|ssh-gcrypt|zmq|rubberband|vidstab|mysofa|"
    r"asound|cdio\w*|dc1394|iec61883|raw1394|avc1394|OpenCL|ass|harfbuzz|pango\w*|cairo\w*|gdk_pixbuf-2\.0)\.so")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program: pathlib.Path) -> dict[str, pathlib.Path]:
    return {name: pathlib.Path(path) for name, path in re.findall(r"^\s(\S+) => (/\S+)", output("ldd", str(program)),
                                                                  re.MULTILINE)}


def found_later() -> dict[str, pathlib.Path]:
    known = dict(re.findall(r"^\s(\S+) \(libc6,x86-64\) => (\S+)", output("/sbin/ldconfig", "-p"), re.MULTILINE))
    return {name: pathlib.Path(known[name]) for name in FOUND_LATER if name in known}


def imports(library: pathlib.Path) -> set[tuple[str, str]]:
    """Names and versions of the symbols that it takes from others."""
    rows = re.findall(r"\sUND (\S+?)(?:@(\S+))?(?: \(\d+\))?$", output("readelf", "-W", "--dyn-syms", str(library)),
                      re.MULTILINE)
    return set(rows)


def exports(library: pathlib.Path) -> dict[str, tuple[str, int]]:
    """Type and size of each symbol that it gives to others."""
    rows = re.findall(r":\s+[0-9a-f]+\s+(\S+)\s+(\S+)\s+(?:GLOBAL|WEAK|UNIQUE)\s+\S+\s+\d+ (\S+)$",
                      output("readelf", "-W", "--dyn-syms", str(library)), re.MULTILINE)
    return {name.split("@")[0]: (kind, int(size, 0)) for size, kind, name in rows}


def write_empty(name: str, original: pathlib.Path, wanted: set[tuple[str, str]], target: pathlib.Path) -> None:
    given = exports(original)
    code, versions = ["    .text"], {}
    for symbol, version in sorted(wanted):
        if symbol not in given:
            continue
        kind, size = given[symbol]
        is_data = kind == "OBJECT"
        code += [f"    .{'data' if is_data else 'text'}", f"    .globl {symbol}",
                 f"    .type {symbol}, @{'object' if is_data else 'function'}", f"{symbol}:",
                 f"    .zero {max(size, 1)}" if is_data else "    ud2", f"    .size {symbol}, .-{symbol}"]
        versions.setdefault(version, []).append(symbol)
    code.append('    .section .note.GNU-stack,"",@progbits')
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "empty.s"), pathlib.Path(folder, "versions")
        source.write_text("\n".join(code) + "\n")
        script.write_text("".join(f"{version} {{ global: {'; '.join(names)}; }};\n"
                                  for version, names in versions.items() if version))
        options = [f"-Wl,--version-script={script}"] if script.stat().st_size > 0 else []
        subprocess.run(["cc", "-shared", "-nostdlib", f"-Wl,-soname,{name}", *options, "-o", str(target), str(source)],
                       check=True)


def make_film(file: pathlib.Path) -> None:
    """A second of 3840x2160 at 60 fps, with references in both directions."""
    subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
                    "testsrc2=size=3840x2160:rate=60:duration=1", "-c:v", "libx264", "-preset", "veryfast", "-bf", "2",
                    "-pix_fmt", "yuv420p", str(file)], check=True)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    programs = [build / name for name in PROGRAMS]
    needed = found_later()
    for program in [*programs, *needed.values()]:
        needed |= libraries(program)
    needed = {name: path for name, path in needed.items() if not OF_EVERY_MACHINE.match(name)}
    real = {name: path for name, path in needed.items() if not UNUSED.match(name)}
    wanted = set().union(*(imports(file) for file in [*programs, *real.values()]))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as packed:
        for sub in ("bin", "tests", "lib"):
            pathlib.Path(packed, sub).mkdir()
        for name in PROGRAMS:
            shutil.copy(build / name, pathlib.Path(packed, name))
        for name, path in needed.items():
            target = pathlib.Path(packed, "lib", name)
            if name in real:
                shutil.copy(path, target)
            else:
                write_empty(name, path, wanted, target)
        make_film(pathlib.Path(packed, FILM))
        files = [str(file) for file in pathlib.Path(packed).glob("*/*")]
        subprocess.run(["strip", "--strip-unneeded", *files], check=True)
        archive = folder / "programs.tar.xz"
        subprocess.run(["tar", "-C", packed, "-I", "xz -6 --threads=0", "-cf", str(archive), "bin", "tests", "lib",
                        FILM], check=True)
    print(f"{archive}: {archive.stat().st_size / 1e6:.0f} MB, {len(real)} libraries, {len(needed) - len(real)} empty")
    return 0


if __name__ == "__main__":
    sys.exit(main())
