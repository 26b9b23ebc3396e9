#!/usr/bin/env python3
"""The goals and tables of scripts/gpu-check, of results as its parts give them."""
import unittest

import gpu_report
from gpu_report import BENCH, COPIES, MINUTE, SIX, STREAM_SPEED

STREAM = {"fps": 60.01, "shown": 3590, "skipped": 0, "superseded": 2, "latency p50, p99 (ms)": [3.2, 9.9],
          "stages p50 (ms)": {"upload": 0.41, "present": 1.5}, "CPU of a core: sender, viewers": [0.03, 0.046],
          "GPU load (%)": 21}


def results() -> dict:
    return {"machine": {"gpu": "a GPU"}, "cuda": ["CUDA: 13.0", "one |\ntwo"], MINUTE: dict(STREAM),
            SIX: {**STREAM, "GPU load (%)": None}, STREAM_SPEED: {"ratio": 0.93},
            BENCH: {"latency, 33177600 bytes": {"messages/s": 80000, "latency p50 (us)": 12.5}},
            COPIES: {"readback, cuMemcpyDtoH": 0.61, "readback, GPU copies, slices 1, two in flight": 0.64}}


def verdicts(of: dict) -> list:
    return [row["verdict"] for row in gpu_report.goals(of)]


class Goals(unittest.TestCase):
    def test_all_are_met(self):
        self.assertEqual(verdicts(results()), ["met"] * 6)
        self.assertEqual([row["measured"] for row in gpu_report.goals(results())], [0.93, 12.5, 0.046, 0, 0.953, 0])

    def test_each_can_be_missed(self):
        worse = {STREAM_SPEED: {"ratio": 0.79}, BENCH: {"latency, 33177600 bytes": {"latency p50 (us)": 30.1}},
                 MINUTE: {**STREAM, "skipped": 1, "CPU of a core: sender, viewers": [0.051, 0.01]},
                 COPIES: {"readback, cuMemcpyDtoH": 0.61, "readback, GPU copies, slices 1, two in flight": 0.69},
                 SIX: {**STREAM, "skipped": 47}}
        self.assertEqual(verdicts(worse), ["missed"] * 6)

    def test_what_was_not_measured_says_why(self):
        some = {STREAM_SPEED: {"not run": "no libcuda.so.1"}, BENCH: {"failed": "Failed: it ended with 1"}, MINUTE: {},
                COPIES: {"readback, cuMemcpyDtoH": 0.61,
                         "readback, GPU copies, slices 1, two in flight": "CUDA has not the GPU that draws"}}
        seen = verdicts(some)
        self.assertEqual(seen[0], "not measured: no libcuda.so.1")
        self.assertEqual(seen[1], "not measured: Failed: it ended with 1")
        self.assertIn("CUDA has not the GPU that draws", seen[4])
        self.assertEqual(seen[5], "not measured: the part was left out")
        self.assertTrue(all(verdict.startswith("not measured: ") for verdict in seen), seen)

    def test_a_part_that_failed_is_told_from_one_that_counts_failures(self):
        keys = ["failed", "not run"]
        self.assertEqual([gpu_report.why_not(result, keys) for result in (
            {"tests": 5, "failed": 0}, ["failed"], {"failed": "Failed: it hangs"}, {"not run": "no display"})],
            ["", "", "Failed: it hangs", "no display"])


class Tables(unittest.TestCase):
    def test_have_every_part_once_and_as_many_cells_as_titles(self):
        text = gpu_report.tables(results())
        for name in results():
            self.assertEqual(text.count(f"| {name} |"), 1, name)
        self.assertIn("| 60.01 | 3590; 0; 2 | 3.2, 9.9 | 0.41 | 1.5 | 0.03, 0.05 | 21 % |", text)
        self.assertIn("one / two", text)
        for block in text.split("\n\n"):
            self.assertEqual(len({line.count("|") for line in block.splitlines()}), 1, block)


if __name__ == "__main__":
    unittest.main()
