"""The other tests with an extension that AddressSanitizer and UndefinedBehaviorSanitizer watch. gcc builds it here: the
library and Python stay as they are, and get the runtimes by LD_PRELOAD."""
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import unittest

from streams import REPOSITORY, Streams

SOURCES = REPOSITORY / "python" / "framewire"
LIBRARY = pathlib.Path(os.environ["FRAMEWIRE_BUILD"]) / "lib"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
# libstdc++ of the library, which throws: AddressSanitizer looks for it when it begins.
RUNTIMES = ("libasan.so", "libubsan.so", "libstdc++.so.6")
DEADLINE_S = 300


def runtimes():
    """The paths of the runtimes. Empty: there is no gcc that has them."""
    if shutil.which("gcc") is None:
        return []
    paths = [subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
             .stdout.strip() for name in RUNTIMES]
    return paths if all(os.path.isabs(path) for path in paths) else []


class Sanitized(Streams):
    def setUp(self):
        super().setUp()
        package = self.folder / "framewire"
        shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("*.c", "*.h"))
        subprocess.run(["gcc", "-O1", "-g", *SANITIZE, "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared",
                        "-fvisibility=hidden", f"-I{REPOSITORY}/library/include", f"-I{sysconfig.get_path('include')}",
                        *(SOURCES / "_framewire").glob("*.c"), "-o", package / "_framewire.abi3.so", f"-L{LIBRARY}",
                        "-l:libframewire.so.0", f"-Wl,-rpath,{LIBRARY}"], check=True, timeout=DEADLINE_S)
        shutil.rmtree(package / "_framewire", ignore_errors=True)  # else it would be found as a package
        self.environment = os.environ | {
            "LD_PRELOAD": " ".join(runtimes()), "PYTHONPATH": str(self.folder), "PYTHONMALLOC": "malloc",
            "ASAN_OPTIONS": "detect_leaks=0"}  # Python itself never frees what it keeps for ever

    def test_others_find_nothing(self):
        for name in ("arrays", "padding", "races", "events", "asyncio", "descriptor", "waits", "processes"):
            with self.subTest(name):
                done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name(f"{name}_test.py")],
                                      env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      timeout=DEADLINE_S, check=False)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    if not runtimes():
        print("skipped: there is no gcc with the runtimes of its sanitizers; Debian's package gcc has them")
        sys.exit(77)
    unittest.main(verbosity=2)
