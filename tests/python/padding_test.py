"""Rows with padding, from a sender in C: shown with their pitch, and copied if they do not lie at whole items."""
import ctypes
import hashlib
import unittest

import framewire
import numpy

from streams import DEADLINE_S, Streams

WIDTH, HEIGHT = 10, 4
P010LE = 15


class Option(ctypes.Structure):
    """fw_option of framewire.h."""
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Settings(ctypes.Structure):
    """fw_settings."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("options", ctypes.POINTER(Option)),
                ("option_count", ctypes.c_size_t), ("log", ctypes.c_void_p), ("log_user", ctypes.c_void_p)]


class PlaneLayout(ctypes.Structure):
    """fw_plane_layout."""
    _fields_ = [("offset_bytes", ctypes.c_uint64), ("pitch_bytes", ctypes.c_uint32), ("row_bytes", ctypes.c_uint32),
                ("rows", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Format(ctypes.Structure):
    """fw_format."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("pixel_format", ctypes.c_int32), ("width", ctypes.c_uint32),
                ("height", ctypes.c_uint32), ("plane_count", ctypes.c_uint32), ("plane", PlaneLayout * 8),
                ("size_bytes", ctypes.c_uint64), ("rest", ctypes.c_int32 * 11)]


class View(ctypes.Structure):
    """The beginning of fw_view."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("numbers", ctypes.c_uint32 * 6), ("data", ctypes.c_void_p),
                ("rest", ctypes.c_uint8 * 400)]


def library():
    """The library that the extension has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "/libframewire.so.0" in line))


class PaddedSender:
    """Of p010le, by the C interface. It ends with the test."""

    def __init__(self, test):
        self.test = test

    def send(self, pitch_bytes, width=WIDTH, height=HEIGHT):
        """A frame whose luma has this pitch, and whose bytes count from 0. Its receiver."""
        fw = library()
        fw.fw_message.restype = ctypes.c_char_p

        def call(name, *arguments):
            self.test.assertEqual(getattr(fw, name)(*arguments), 0, (name, fw.fw_message()))
        sender, stream, slot, port = (ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint16())
        option = Option(b"listen", b"127.0.0.1:0")
        settings = Settings(ctypes.sizeof(Settings), ctypes.pointer(option), 1, None, None)
        call("fw_sender_create", ctypes.byref(settings), ctypes.byref(sender))
        self.test.addCleanup(fw.fw_sender_destroy, sender)
        call("fw_sender_add_stream", sender, b"test", None, ctypes.byref(stream))
        call("fw_sender_start", sender)
        call("fw_sender_port", sender, ctypes.byref(port))
        form = Format()
        call("fw_format_init", ctypes.byref(form), ctypes.c_size_t(ctypes.sizeof(form)), P010LE, width, height)
        form.plane[0].pitch_bytes = pitch_bytes
        form.plane[1].offset_bytes = (pitch_bytes * height + 63) // 64 * 64
        form.size_bytes = form.plane[1].offset_bytes + form.plane[1].pitch_bytes * form.plane[1].rows
        call("fw_stream_begin", stream, ctypes.byref(form), 0, None)
        receiver = framewire.receive(f"127.0.0.1:{port.value}/test")
        self.test.addCleanup(receiver.close)
        call("fw_stream_claim", stream, ctypes.c_int64(DEADLINE_S * 10**9), 0, ctypes.byref(slot))
        view = View()
        call("fw_slot_view", slot, ctypes.byref(view), ctypes.c_size_t(ctypes.sizeof(view)))
        bytes_of_it = (bytes(range(256)) * (form.size_bytes // 256 + 1))[:form.size_bytes]
        ctypes.memmove(view.data, bytes_of_it, form.size_bytes)
        call("fw_slot_publish", slot, None)
        fw.fw_slot_unref(slot)
        return receiver


class Padding(Streams):
    def expected(self, pitch_bytes):
        rows = [bytes(range(row * pitch_bytes, row * pitch_bytes + 2 * WIDTH)) for row in range(HEIGHT)]
        return numpy.frombuffer(b"".join(rows), dtype="<u2").reshape(HEIGHT, WIDTH)

    def test_padding_is_skipped_without_a_copy(self):
        before = framewire.copies()
        with PaddedSender(self).send(24).acquire(timeout=DEADLINE_S) as frame:
            luma = frame.planes[0]
            self.assertEqual((luma.strides, luma.is_copy, framewire.copies()), ((24, 2), False, before))
            numpy.testing.assert_array_equal(luma.numpy(), self.expected(24))
            self.assertRaisesRegex(BufferError, "padding", hashlib.sha256, luma)  # which wants one piece
            self.assertEqual(bytes(luma.copy()), self.expected(24).tobytes())

    def test_rows_at_odd_bytes_are_copied(self):
        before = framewire.copies()
        receiver = PaddedSender(self).send(21)
        frame = receiver.acquire(timeout=DEADLINE_S)
        luma = frame.planes[0]
        self.assertEqual((luma.strides, luma.is_copy, luma.read_only), ((20, 2), True, True))
        self.assertEqual(framewire.copies(), before + 1)
        frame.release()
        numpy.testing.assert_array_equal(luma.numpy(), self.expected(21))
        self.assertEqual(receiver.counts().frames_held, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
