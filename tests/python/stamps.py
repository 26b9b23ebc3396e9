"""Checks frames of `pattern:stamped`, as find_torn_line() of frame/test_pattern.cpp does."""
import functools

import numpy

LINE_BYTES = 64


@functools.lru_cache(maxsize=1)
def _numbers(lines):
    return numpy.arange(lines, dtype=numpy.uint64)


def stamps(sequence, lines):
    """The stamp of each line of 64 bytes: the finaliser of splitmix64."""
    z = _numbers(lines) + numpy.uint64(sequence * 0x9e3779b97f4a7c15 % 2**64)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
    return z ^ (z >> numpy.uint64(31))


def is_whole(frame):
    """Whether every line of the frame repeats the stamp of its place. The frame's size is a multiple of 64 bytes."""
    lines = numpy.asarray(frame).reshape(-1).view(numpy.uint64).reshape(-1, LINE_BYTES // 8)
    return bool((lines == stamps(frame.sequence, len(lines))[:, None]).all())
