"""Tests scripts/rdma-lab, on which all other tests of the lab depend: output and exit status of a command must pass
through."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAB = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "rdma-lab"
NATIVELY = pathlib.Path(__file__).with_name("natively.py")
NOT_TO_BE_HAD = 77
MACHINES_TIME_S = 120  # for the start; emulation has never taken longer


def lab(*words, **options) -> subprocess.CompletedProcess:
    return subprocess.run([LAB, *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=2 * MACHINES_TIME_S, **options)


class LabItself(unittest.TestCase):
    def test_output_and_status(self):
        ran = lab("sh", "-c", "echo said; echo complained >&2; exit 37")
        self.assertEqual(ran.returncode, 37, ran.stderr)
        self.assertIn("said", ran.stdout + ran.stderr)
        self.assertIn("complained", ran.stdout + ran.stderr)

    def test_a_command_that_a_signal_ends(self):
        self.assertEqual(lab("sh", "-c", "kill -9 $$").returncode, 128 + 9)

    def test_a_command_that_does_not_end(self):
        self.assertEqual(lab("--timeout", 2, "sleep", 1000).returncode, 124)

    def test_the_second_of_two_machines_is_heard(self):
        self.assertEqual(lab("--hosts", 2, "sh", "-c", "exit $((FRAMEWIRE_LAB_ROLE - 1))").returncode, 1)

    def test_what_runs_natively_finds_its_device(self):
        """Like a user's machine with an RDMA card, where no lab variable is set."""
        ran = lab("sh", "-c", f"unset $(env | sed -n 's/^\\(FRAMEWIRE_LAB_[A-Z0-9]*\\)=.*/\\1/p'); "
                              f"{sys.executable} {NATIVELY} sh -c 'echo at $FRAMEWIRE_LAB_ADDRESS'")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertRegex(ran.stdout, r"on the RDMA device at (10\.77\.0\.1)\s+at \1")

    def test_without_qemu(self):
        """The script says so and does not report success."""
        with_nothing = {**os.environ, "PATH": self.path_without_qemu()}
        ran = lab("true", env=with_nothing)
        self.assertEqual(ran.returncode, NOT_TO_BE_HAD, ran.stderr)
        self.assertRegex(ran.stderr, "rdma-lab: .*(QEMU|qemu)")

    def path_without_qemu(self) -> str:
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for place in os.environ["PATH"].split(os.pathsep):
            for program in pathlib.Path(place).iterdir() if pathlib.Path(place).is_dir() else ():
                if not program.name.startswith("qemu-") and not (folder / program.name).exists():
                    (folder / program.name).symlink_to(program)
        return str(folder)


if __name__ == "__main__":
    if lab("true").returncode == NOT_TO_BE_HAD:
        sys.exit(NOT_TO_BE_HAD)
    unittest.main(verbosity=2)
