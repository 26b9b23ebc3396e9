"""The readers in pictures.py detect errors: otherwise the tests that use them could not fail."""
import struct
import unittest

import pictures


class Readers(unittest.TestCase):
    def test_a_stamped_frame_says_its_sequence(self):
        frame = b"".join(struct.pack("<Q", pictures.stamp_of(4711, line)) * 8 for line in range(9))
        self.assertEqual(pictures.sequence_of(frame), 4711)

    def test_a_frame_of_two_halves_is_torn(self):
        halves = [struct.pack("<Q", pictures.stamp_of(7 + line // 5, line)) * 8 for line in range(9)]
        with self.assertRaisesRegex(AssertionError, "frame 7 is torn in line 5"):
            pictures.sequence_of(b"".join(halves))

    def test_half_a_frame_of_y4m_is_an_error(self):
        whole = b"YUV4MPEG2 W2 H2\nFRAME\nabcdFRAME\nefgh"
        self.assertEqual(pictures.y4m_frames(whole, 4), ("YUV4MPEG2 W2 H2", [b"abcd", b"efgh"]))
        with self.assertRaisesRegex(AssertionError, "not whole"):
            pictures.y4m_frames(whole[:-1], 4)

    def test_a_counter_that_is_none_is_an_error(self):
        with self.assertRaisesRegex(AssertionError, "the counter says"):
            pictures.read_counter(pictures.Picture(320, 180, 4, bytes(320 * 180 * 4)))


if __name__ == "__main__":
    unittest.main()
