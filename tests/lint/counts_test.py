#!/usr/bin/env python3
"""How scripts/test counts ctest's results, with a real ctest: a test that did not run has not passed, and one that
passed only at the second try is named."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
FAILS_ONCE = "test -e $0.NAME || { touch $0.NAME; false; }"
TESTS = {  # name: command, properties
    "passes": ("true", "LABELS quick"),
    "also_passes": ("true", "LABELS e2e"),
    "fails": ("echo 100% tests passed, 0 tests failed out of 1; echo the lab was ***Skipped; false", "LABELS quick"),
    "is_skipped": ("exit 77", "LABELS quick SKIP_RETURN_CODE 77"),
    "says_that_it_is_skipped": ("echo no device", 'LABELS quick SKIP_REGULAR_EXPRESSION "no device"'),
}
HASTY = {
    "passes": ("true", "LABELS e2e"),
    "e2e.fails_once": (FAILS_ONCE, 'LABELS "e2e;quick"'),
    "e2e.fails_once_more": (FAILS_ONCE, "LABELS e2e"),  # distinct from the test whose name is a prefix of this one
    "rdma.fails_once": (FAILS_ONCE, "LABELS rdma"),
    "e2e.always_fails": ("echo always; false", "LABELS e2e"),
    "e2e.hangs_once": ("test -e $0.NAME || { touch $0.NAME; exec sleep 60; }", "LABELS e2e TIMEOUT 1"),
    "unit.fails_once": (FAILS_ONCE, "LABELS quick"),
    "e2eXfails_once": ("touch $0.NAME.$$", "LABELS e2e"),
}


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def make(self, tests: dict):
        lines = [f"add_test({name} sh -c [==[{command.replace('NAME', name)}]==] {self.folder}/mark)\n"
                 f"set_tests_properties({name} PROPERTIES {properties})\n"
                 for name, (command, properties) in tests.items()]
        (self.folder / "CTestTestfile.cmake").write_text("".join(lines))

    def counting(self, commands: str, *options: str) -> subprocess.CompletedProcess:
        """The output of scripts/test's functions after `commands`."""
        prelude = (f"source {SCRIPTS}/common.sh; source {SCRIPTS}/counting.sh; folder=$1; log=$1/log; shift; "
                   'run_and_count() { run_ctest $folder $log "$@"; count_ctest $folder $log; }; ')
        return subprocess.run(["bash", "-c", prelude + commands, "counts", self.folder, *options],
                              capture_output=True, text=True, check=False)

    def counts(self, *options: str) -> list[str]:
        self.make(TESTS)
        said = self.counting('gives_second_try=false; '
                             'run_and_count "$@" >$folder/said || exit 1; echo $good $bad $not_run',
                             *options)
        self.assertEqual(said.stderr, "")
        return said.stdout.split() if said.returncode == 0 else []

    def test_a_long_list_of_tests_ends_nothing(self):
        """Under pipefail a reader that has enough would kill its writer, and scripts/test with it."""
        commands = ("set -euo pipefail; for i in {1..20000}; "
                    "do durations+=(\"$i.5 a_test_with_a_long_name_$i\"); done; say_longest; "
                    "for i in {1..20000}; do echo \"1/1 Test #1: t ***Failed\"; echo output $i; done >$folder/log; "
                    "show_failures $folder/log | wc -l; echo end")
        said = self.counting(commands)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        lines = said.stdout.splitlines()
        self.assertEqual(len(lines), 13)
        self.assertIn("20000.5 s  a_test_with_a_long_name_20000", lines[1])
        self.assertEqual(lines[11:], ["400", "end"])

    def test_each_is_counted_once(self):
        self.assertEqual(self.counts(), ["2", "1", "2"])

    def test_where_none_runs(self):
        self.assertEqual(self.counts("-R", "skipped"), ["0", "0", "2"])

    def test_where_there_is_none(self):
        self.assertEqual(self.counts("-R", "no such test"), [])

    def test_a_second_try(self):
        """Only failed tests of programs or machines get a second try, which decides."""
        self.make(HASTY)
        said = self.counting("run_and_count -j 4; echo $good $bad $not_run; say_second_tries; say_longest")
        self.assertEqual(said.stderr, "")
        lines = said.stdout.splitlines()
        self.assertIn("6 2 0", lines)
        self.assertIn("passed at the second try: e2e.fails_once e2e.fails_once_more rdma.fails_once e2e.hangs_once",
                      lines)
        self.assertEqual(lines.count("always"), 2, said.stdout)
        self.assertEqual(len(list(self.folder.glob("mark.e2eXfails_once.*"))), 1, "what passed is not tried again")
        longest = lines[lines.index("took longest:") + 1:]
        self.assertRegex(longest[0], r"^ +[1-9][0-9.]* s  e2e.hangs_once$")
        self.assertEqual(len(longest), 10, "five of the eight ran twice")

    def test_the_second_try_is_alone(self):
        """Second tries run one at a time."""
        other = ("test ! -e $0.running; one=$?; touch $0.running; sleep 0.2; rm -f $0.running; "
                 "test -e $0.NAME && exit $one; touch $0.NAME; false")
        self.make({f"e2e.{number}": (other, "LABELS e2e") for number in range(3)})
        said = self.counting("run_and_count -j 3 >$folder/said; echo $good $bad $not_run")
        self.assertEqual(said.stdout.split(), ["3", "0", "0"])

    def test_where_there_is_no_second_try(self):
        self.make(HASTY)
        said = self.counting("gives_second_try=false; run_and_count -j 4 >$folder/said; "
                             "echo $good $bad $not_run; say_second_tries")
        self.assertEqual(said.stdout.split(), ["2", "6", "0"])


if __name__ == "__main__":
    unittest.main()
