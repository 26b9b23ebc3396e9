#!/usr/bin/env python3
"""What scripts/test takes out of ctest's words, by ctest itself: a test that did not run has not passed."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
TESTS = {  # name: command, properties
    "passes": ("true", ""),
    "also_passes": ("true", ""),
    "fails": ("echo 100% tests passed, 0 tests failed out of 1; echo the lab was ***Skipped; false", ""),
    "is_skipped": ("exit 77", "SKIP_RETURN_CODE 77"),
    "says_that_it_is_skipped": ("echo no device", 'SKIP_REGULAR_EXPRESSION "no device"'),
}


class Counts(unittest.TestCase):
    def counts(self, *options: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            lines = [f'add_test({name} sh -c "{command}")\nset_tests_properties({name} PROPERTIES LABELS counted {properties})\n'
                     for name, (command, properties) in TESTS.items()]
            pathlib.Path(folder, "CTestTestfile.cmake").write_text("".join(lines))
            log = pathlib.Path(folder, "ctest.log")
            with log.open("w") as out:
                subprocess.run(["ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error", *options], stdout=out,
                               stderr=subprocess.STDOUT, check=False)
            said = subprocess.run(["bash", "-c", f'source {SCRIPTS}/common.sh; counts_of "$1"', "counts", log], capture_output=True,
                                  text=True, check=False)
            return said.stdout.split() if said.returncode == 0 else []

    def test_each_is_counted_once(self):
        self.assertEqual(self.counts(), ["2", "1", "2"])

    def test_where_none_runs(self):
        self.assertEqual(self.counts("-R", "skipped"), ["0", "0", "2"])

    def test_where_there_is_none(self):
        self.assertEqual(self.counts("-R", "no such test"), [])


if __name__ == "__main__":
    unittest.main()
