#!/usr/bin/env python3
"""What scripts/gpu-check takes from the output of compute-sanitizer, which is not on every machine."""
import unittest

import gpu_memory
from gpu_machine import Failed

BEGINNING = "========= COMPUTE-SANITIZER\n"
FRAMES = "listening on 127.0.0.1:5290\n30 frames, 1 error of the network, 0 dropped\n"
BACKTRACE = """\
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: [0x2b1f6d] in libcuda.so.1
=========         Host Frame: main [0x401a2c] in framewire-view
=========
"""
READ = """\
========= Invalid __global__ read of size 4 bytes
=========     at copy_rows(unsigned int *)+0x70
=========     by thread (0,0,0) in block (0,0,0)
=========     Access at 0x7f2a4c200000 is out of bounds
""" + BACKTRACE
LEAK = """\
========= Leaked 2,097,152 bytes at 0x7f2a4c000000
""" + BACKTRACE.replace("error", "cuMemAlloc time")
CALL = """\
========= Program hit CUDA_ERROR_NOT_SUPPORTED (error 801) due to "operation not supported" on CUDA API call to \
cuMemCreate.
""" + BACKTRACE


def summary(errors: int) -> str:
    return f"========= ERROR SUMMARY: {errors} error{'' if errors == 1 else 's'}\n"


class Log:
    """A machine with one file."""

    def __init__(self, text: str):
        self.text = text

    def log(self, name: str) -> str:
        assert name == "sanitized-viewer"
        return self.text


class Findings(unittest.TestCase):
    def found(self, *parts: str) -> dict:
        return gpu_memory.findings(Log(BEGINNING + FRAMES + "".join(parts)), "sanitized-viewer")

    def test_a_clean_program(self):
        leaks = "========= LEAK SUMMARY: 0 bytes leaked in 0 allocations\n"
        self.assertEqual(self.found(leaks, summary(0)), {"errors": 0, "calls that gave an error": []})

    def test_errors(self):
        with self.assertRaisesRegex(Failed, "^compute-sanitizer reports 2 errors; see sanitized-viewer.log$"):
            self.found(READ, READ, summary(2))

    def test_a_leak(self):
        leaks = "========= LEAK SUMMARY: 2097152 bytes leaked in 1 allocations\n"
        with self.assertRaisesRegex(Failed, "reports 1 errors"):
            self.found(LEAK, leaks, summary(1))

    def test_a_call_that_gave_an_error_is_none(self):
        told = ["cuMemCreate: CUDA_ERROR_NOT_SUPPORTED"]
        self.assertEqual(self.found(CALL, summary(1))["calls that gave an error"], told)
        self.assertEqual(self.found(CALL, CALL, summary(2))["calls that gave an error"], told)

    def test_a_call_does_not_hide_an_error(self):
        with self.assertRaisesRegex(Failed, "reports 1 errors"):
            self.found(CALL, READ, summary(2))

    def test_each_process_counts(self):
        with self.assertRaisesRegex(Failed, "reports 1 errors"):
            self.found(READ, summary(1), BEGINNING, summary(0))

    def test_a_program_that_was_not_checked_to_its_end(self):
        for text in ("", READ, "========= Error: Target application terminated before first instrumented API call\n"):
            with self.assertRaisesRegex(Failed, "^compute-sanitizer gave no summary: "):
                self.found(text)


if __name__ == "__main__":
    unittest.main()
