"""The wheel: what is in it, and that it works in a virtual environment."""
import base64
import csv
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import unittest
import zipfile

from streams import DEADLINE_S, REPOSITORY, Streams

BUILD = pathlib.Path(os.environ["FRAMEWIRE_BUILD"])
VERSION = os.environ["FRAMEWIRE_VERSION"]
USES_IT = """
import framewire
stream = framewire.send("test", (8, 8), listen="127.0.0.1:0")
receiver = framewire.receive(f"127.0.0.1:{stream.sender.port}/test")
slot = stream.claim(timeout=30)
memoryview(slot.planes[0]).cast("B")[:] = bytes(range(256))
slot.publish()
assert bytes(receiver.acquire(timeout=30)) == bytes(range(256))
print(framewire.__file__, framewire.__version__)
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "framewire" in line}))
"""


class Wheel(Streams):
    @classmethod
    def setUpClass(cls):
        cls.folder_of_wheel = BUILD / "tests" / "wheel"
        done = subprocess.run([sys.executable, REPOSITORY / "python" / "write_wheel.py", BUILD / "wheel" / "framewire",
                               BUILD / "lib" / "libframewire.so.0", REPOSITORY / "LICENSE", VERSION,
                               cls.folder_of_wheel], capture_output=True, text=True, check=True)
        cls.wheel = pathlib.Path(done.stdout.strip())

    def test_its_name_and_record(self):
        self.assertRegex(self.wheel.name, rf"^framewire-{re.escape(VERSION)}-cp311-abi3-linux_\w+\.whl$")
        information = f"framewire-{VERSION}.dist-info"
        with zipfile.ZipFile(self.wheel) as archive:
            names = set(archive.namelist())
            record = archive.read(f"{information}/RECORD").decode().splitlines()
            for name, digest, size in csv.reader(record):
                if name.endswith("RECORD"):
                    continue
                data = archive.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={expected}", str(len(data))))
        self.assertEqual({row[0] for row in csv.reader(record)}, names)
        self.assertLessEqual({"framewire/__init__.py", "framewire/_framewire.abi3.so", "framewire/libframewire.so.0",
                              "framewire/py.typed", "framewire/_framewire.pyi", f"{information}/METADATA",
                              f"{information}/WHEEL", f"{information}/LICENSE"}, names)

    def test_it_works_in_a_virtual_environment(self):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        folder = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, env=environment, timeout=4 * DEADLINE_S)
        python = folder / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--no-index", "--quiet", "--disable-pip-version-check",
                        self.wheel], check=True, env=environment, timeout=4 * DEADLINE_S)
        # Away from the build, whose library must not be what is loaded.
        done = subprocess.run([python, "-c", USES_IT], capture_output=True, text=True, env=environment, cwd="/",
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split()[1], VERSION)
        self.assertEqual({str(pathlib.Path(path).parents[4]) for path in [*lines[1].split(), lines[0].split()[0]]
                          if "site-packages" in path}, {str(folder)})
        self.assertEqual({pathlib.Path(path).name for path in lines[1].split() if ".so" in path},
                         {"_framewire.abi3.so", "libframewire.so.0"})


class StableInterface(unittest.TestCase):
    def test_the_extension_needs_only_the_library_and_libc(self):
        extension = BUILD / "wheel" / "framewire" / "_framewire.abi3.so"
        listed = subprocess.run(["objdump", "-p", extension], capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED +(\S+)", listed))
        self.assertLessEqual(needed, {"libframewire.so.0", "libc.so.6", "libm.so.6"})
        self.assertIn("libframewire.so.0", needed)
        self.assertEqual(re.findall(r"RUNPATH +(\S+)", listed), ["$ORIGIN"])

    def test_it_exports_only_its_beginning(self):
        extension = BUILD / "wheel" / "framewire" / "_framewire.abi3.so"
        listed = subprocess.run(["nm", "-D", "--defined-only", extension], capture_output=True, text=True, check=True)
        self.assertEqual([line.split()[-1] for line in listed.stdout.splitlines()], ["PyInit__framewire"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
