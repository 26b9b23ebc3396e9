"""Type hints: mypy takes them, and they say what the extension is."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import framewire

from streams import REPOSITORY

PACKAGE = pathlib.Path(framewire.__file__).parent
# What mypy itself says wrongly of types of the standard library that modules import.
OF_THE_STANDARD_LIBRARY = (".AsyncIterator.", ".Mapping.", ".Callable ")


class Types(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name  # with what mypy remembers of the standard library

    def run_python(self, *arguments):
        return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=self.folder,
                              env=os.environ | {"MYPYPATH": str(PACKAGE.parent)}, check=False)

    def test_mypy_takes_the_package_and_its_examples(self):
        examples = sorted((REPOSITORY / "examples" / "python").glob("*.py"))
        done = self.run_python("mypy", "--strict", PACKAGE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.run_python("mypy", "--ignore-missing-imports", "--check-untyped-defs", *examples)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_stub_is_what_the_extension_is(self):
        done = self.run_python("mypy.stubtest", "framewire")
        self.assertIn("checked 8 modules", done.stdout.replace("no issues found in", "checked"), done.stderr)
        errors = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
        self.assertEqual([line for line in errors if not any(name in line for name in OF_THE_STANDARD_LIBRARY)], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
