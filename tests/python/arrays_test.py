"""Arrays: shapes, types and pixels of every format; read-only, shared and given back."""
import unittest

import framewire
import numpy

from streams import DEADLINE_S, Streams


def half(number):
    return (number + 1) // 2


def expected_planes(format, width, height):
    """Shape and type of each plane, independently of the tested code."""
    luma = (height, width)
    quarter, columns = (half(height), half(width)), (height, half(width))
    packed = {"rgba": 4, "bgra": 4, "rgb0": 4, "bgr0": 4, "rgb24": 3, "bgr24": 3}
    if format in packed:
        return [((height, width, packed[format]), "uint8")]
    return {
        "gray8": [(luma, "uint8")],
        "nv12": [(luma, "uint8"), ((*quarter, 2), "uint8")],
        "yuv420p": [(luma, "uint8"), (quarter, "uint8"), (quarter, "uint8")],
        "yuv422p": [(luma, "uint8"), (columns, "uint8"), (columns, "uint8")],
        "yuv444p": [(luma, "uint8")] * 3,
        "uyvy422": [((*columns, 4), "uint8")],
        "yuyv422": [((*columns, 4), "uint8")],
        "p010le": [(luma, "uint16"), ((*quarter, 2), "uint16")],
        "yuv420p10le": [(luma, "uint16"), (quarter, "uint16"), (quarter, "uint16")],
        "yuv422p10le": [(luma, "uint16"), (columns, "uint16"), (columns, "uint16")],
        "rgba+grayf32le": [((height, width, 4), "uint8"), (luma, "float32")],
    }[format]


def some_pixels(shape, dtype, seed):
    return (numpy.arange(numpy.prod(shape)) * 7 + seed).reshape(shape).astype(dtype)


class Arrays(Streams):
    def assert_format(self, format, width, height):
        expected = expected_planes(format, width, height)
        pixels = [some_pixels(shape, dtype, seed) for seed, (shape, dtype) in enumerate(expected)]

        def fill(slot):
            self.assertEqual([(plane.shape, plane.dtype) for plane in slot.planes], expected)
            for plane, picture in zip(slot.planes, pixels):
                array = plane.numpy()
                self.assertTrue(array.flags.writeable)
                array[...] = picture
        before = framewire.copies()
        stream, _, frame = self.one_frame((width, height), format, fill)
        self.assertEqual((frame.pixel_format, frame.width, frame.height), (format, width, height))
        self.assertEqual([(plane.shape, plane.dtype) for plane in frame.planes], expected)
        for plane, picture in zip(frame.planes, pixels):
            array = numpy.asarray(plane)
            self.assertFalse(array.flags.writeable)
            self.assertEqual((array.shape, array.dtype, array.strides),
                             (picture.shape, picture.dtype, plane.strides))
            numpy.testing.assert_array_equal(array, picture)
            self.assertEqual(memoryview(plane).tobytes(), picture.tobytes())
        if len(expected) == 1:
            numpy.testing.assert_array_equal(frame.numpy(), pixels[0])
        else:
            self.assertRaisesRegex(BufferError, f"{len(expected)} planes", frame.numpy)
            self.assertRaises(BufferError, memoryview, frame)
        self.assertEqual(framewire.copies(), before)
        stream.close()

    def test_every_format_holds_its_pixels(self):
        formats = [format for format in framewire.pixel_formats if format != "bytes"]
        self.assertGreaterEqual(len(formats), 17)
        for format in formats:
            for size in ((64, 36), (37, 21)):
                with self.subTest(format=format, size=size):
                    self.assert_format(format, *size)

    def test_bytes_have_the_size_of_their_frame(self):
        stream, receiver = self.pair(1000, "bytes")
        for size in (1000, 1, 999):
            slot = stream.claim(timeout=DEADLINE_S)
            self.assertEqual(slot.numpy().shape, (1000,))
            slot.numpy()[:size] = some_pixels((size,), "uint8", size)
            slot.publish(size_bytes=size)
            frame = receiver.acquire(timeout=DEADLINE_S)
            numpy.testing.assert_array_equal(frame.numpy(), some_pixels((size,), "uint8", size))
            self.assertEqual(bytes(frame), some_pixels((size,), "uint8", size).tobytes())

    def test_details_of_a_frame(self):
        stream, receiver = self.pair((16, 8), "nv12", frame_rate=29.97)
        slot = stream.claim(timeout=DEADLINE_S)
        slot.publish(pts_ns=123, tag=456)
        frame = receiver.acquire(timeout=DEADLINE_S)
        self.assertEqual((frame.sequence, frame.pts_ns, frame.tag, frame.epoch), (0, 123, 456, 1))
        self.assertTrue(0 < frame.begun_ns <= frame.completed_ns <= frame.received_ns)
        self.assertEqual(frame.format().frame_rate, (2997, 100))
        self.assertEqual(frame.format().pixel_format, "nv12")
        self.assertTrue(frame.check())
        stream.begin((16, 8), "rgb24", colour_primaries=9, sample_aspect=(4, 3))
        stream.claim(timeout=DEADLINE_S).publish()
        frame = receiver.acquire(timeout=DEADLINE_S)
        self.assertEqual((frame.epoch, frame.format().colour_primaries, frame.format().sample_aspect), (2, 9, (4, 3)))


class ReadOnly(Streams):
    def test_writes_are_refused(self):
        _, _, frame = self.one_frame((8, 8))
        with self.assertRaisesRegex(ValueError, "read-only"):
            frame.numpy()[0, 0, 0] = 1
        with self.assertRaises(TypeError):
            memoryview(frame)[0, 0, 0] = 1
        with self.assertRaises(ValueError):
            frame.numpy().flags.writeable = True

    def test_slots_are_read_only_once_published(self):
        stream, receiver = self.pair((8, 8))
        slot = stream.claim(timeout=DEADLINE_S)
        plane = slot.planes[0]
        slot.numpy()[:] = 7
        slot.publish(keep=True)
        self.assertTrue(plane.read_only)
        self.assertFalse(slot.numpy().flags.writeable)
        self.assertEqual(slot.numpy()[0, 0, 0], 7)
        self.assertRaises(framewire.StateError, slot.publish)
        slot.release()
        self.assertRaises(framewire.StateError, slot.numpy)

    def test_a_published_slot_says_what_its_receivers_are_told(self):
        stream, receiver = self.pair((4, 4))
        for number in range(3):
            slot = stream.claim(timeout=DEADLINE_S)
            slot.publish(pts_ns=5, tag=7, keep=True)
            frame = receiver.acquire(timeout=DEADLINE_S)
            self.assertEqual((slot.sequence, slot.pts_ns, slot.tag), (number, 5, 7))
            self.assertEqual((slot.sequence, slot.begun_ns, slot.completed_ns),
                             (frame.sequence, frame.begun_ns, frame.completed_ns))
            slot.release()
            frame.release()

    def test_copies_are_writable_and_counted(self):
        _, _, frame = self.one_frame((8, 8), fill=lambda slot: slot.numpy().fill(3))
        before = framewire.copies()
        array = frame.numpy(writable=True)
        array[:] = 9
        self.assertEqual((framewire.copies() - before, frame.numpy()[0, 0, 0]), (1, 3))
        copy = frame.copy()
        self.assertEqual((framewire.copies() - before, copy.is_copy, copy.read_only), (2, True, False))
        frame.release()
        self.assertEqual((array[0, 0, 0], numpy.asarray(copy)[7, 7, 3]), (9, 3))

    def test_views_have_items_of_the_same_size(self):
        _, _, frame = self.one_frame((8, 8), "p010le", lambda slot: slot.planes[0].numpy().fill(0xffc0))
        luma = frame.planes[0]
        for dtype in ("int16", numpy.int16, numpy.dtype("int16")):
            self.assertEqual(luma.view(dtype).numpy()[0, 0], -64)
            self.assertFalse(luma.view(dtype).numpy().flags.writeable)
        self.assertRaisesRegex(ValueError, "4 bytes.*uint16.*2", luma.view, "float32")
        self.assertRaisesRegex(ValueError, "complex64", luma.view, "complex64")
        self.assertRaisesRegex(TypeError, "item type", luma.view, 3)


class GivenBack(Streams):
    def held(self, receiver):
        return receiver.counts().frames_held

    def test_release_gives_a_frame_back(self):
        _, receiver, frame = self.one_frame((8, 8))
        self.assertEqual(self.held(receiver), 1)
        frame.release()
        self.assertEqual(self.held(receiver), 0)
        self.assertTrue(frame.released)
        self.assertEqual(frame.width, 8)
        self.assertRaisesRegex(framewire.StateError, "released", frame.numpy)
        frame.release()

    def test_a_block_gives_a_frame_back(self):
        _, receiver, frame = self.one_frame((8, 8))
        with frame:
            self.assertEqual(frame.numpy().shape, (8, 8, 4))
        self.assertEqual(self.held(receiver), 0)

    def test_arrays_hold_their_frame(self):
        _, receiver, frame = self.one_frame((8, 8), fill=lambda slot: slot.numpy().fill(5))
        part = frame.numpy()[2:4]
        view = memoryview(frame.planes[0])
        frame.release()
        self.assertEqual((self.held(receiver), part[0, 0, 0]), (1, 5))
        del part
        self.assertEqual((self.held(receiver), view[0, 0, 0]), (1, 5))
        view.release()
        self.assertEqual(self.held(receiver), 0)

    def test_frames_outlive_their_receiver(self):
        stream, receiver, frame = self.one_frame((8, 8), fill=lambda slot: slot.numpy().fill(5))
        array = frame.numpy()
        receiver.close()
        stream.close()
        self.assertEqual(array.min(), 5)
        self.assertEqual(frame.numpy().max(), 5)

    def test_slots_that_are_not_published_are_dropped(self):
        stream, receiver = self.pair((8, 8))
        for _ in range(20):
            self.assertIsNotNone(stream.claim(timeout=DEADLINE_S))
        with self.assertRaises(ZeroDivisionError), stream.claim(timeout=DEADLINE_S):
            raise ZeroDivisionError
        with stream.claim(timeout=DEADLINE_S) as slot:
            slot.numpy()[:] = 1
        self.assertEqual(receiver.acquire(timeout=DEADLINE_S).sequence, 0)
        self.assertEqual(stream.counts().frames_published, 1)

    def test_a_dropped_slots_array_can_still_be_read(self):
        stream, _ = self.pair((16, 8), "gray8")
        slot = stream.claim(timeout=DEADLINE_S)
        array = slot.numpy()
        array[:] = 5
        stream.begin((32, 8), "gray8")
        self.assertFalse(slot.publish())
        self.assertEqual(int(array.sum()), 5 * array.size)
        del slot
        self.assertEqual(int(array.sum()), 5 * array.size)


if __name__ == "__main__":
    unittest.main(verbosity=2)
