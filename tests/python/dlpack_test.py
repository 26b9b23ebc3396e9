"""DLPack: the flag of its version 1.0, consumers of earlier versions, and capsules that nobody consumes."""
import ctypes
import gc
import unittest
import warnings

import framewire
import numpy
import torch

from streams import Streams

READ_ONLY, IS_COPIED = 1, 2


class Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned of dlpack.h."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Legacy(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
set_name = ctypes.pythonapi.PyCapsule_SetName
set_name.restype, set_name.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
USED = ctypes.c_char_p(b"used_dltensor_versioned")  # which a capsule does not copy


def consume(capsule):
    """Takes the tensor out of a capsule, as a consumer of DLPack 1.0 does."""
    managed = ctypes.cast(get_pointer(capsule, b"dltensor_versioned"), ctypes.POINTER(Versioned)).contents
    set_name(capsule, USED)
    return managed


class DLPack(Streams):
    def frame_of(self, value, format="rgba", size=(8, 6)):
        _, receiver, frame = self.one_frame(size, format, lambda slot: slot.planes[0].numpy().fill(value))
        self.held = lambda: receiver.counts().frames_held
        return frame

    def test_version_1_has_the_flag_and_no_copy(self):
        frame = self.frame_of(5)
        before = framewire.copies()
        managed = consume(frame.__dlpack__(max_version=(1, 0)))
        tensor = managed.tensor
        self.assertEqual((managed.major, managed.flags & READ_ONLY, managed.flags & IS_COPIED), (1, READ_ONLY, 0))
        self.assertEqual((tensor.device_type, tensor.device_id), frame.__dlpack_device__())
        self.assertEqual((tensor.code, tensor.bits, tensor.lanes), (1, 8, 1))
        self.assertEqual(tensor.shape[: tensor.ndim], [6, 8, 4])
        self.assertEqual(tensor.strides[: tensor.ndim], [32, 4, 1])
        self.assertEqual(tensor.data + tensor.byte_offset, frame.numpy().ctypes.data)
        self.assertEqual(framewire.copies(), before)
        frame.release()
        gc.collect()
        self.assertEqual(self.held(), 1)
        self.assertEqual(ctypes.string_at(tensor.data, 4), b"\5\5\5\5")
        managed.deleter(ctypes.addressof(managed))
        self.assertEqual(self.held(), 0)

    def test_the_deleter_needs_no_gil(self):
        frame = self.frame_of(5)
        managed = consume(frame.__dlpack__(max_version=(1, 1)))
        frame.release()
        address, deleter = ctypes.addressof(managed), ctypes.cast(managed.deleter, ctypes.c_void_p).value
        # A foreign thread of C that calls the deleter: this thread keeps the GIL meanwhile.
        libc = ctypes.PyDLL(None)
        thread = ctypes.c_ulong()
        self.assertEqual(libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(deleter),
                                             ctypes.c_void_p(address)), 0)
        self.assertEqual(libc.pthread_join(thread, None), 0)
        self.assertEqual(self.held(), 0)

    def test_a_capsule_that_nobody_consumes_gives_its_slot_back(self):
        frame = self.frame_of(5)
        capsules = [frame.__dlpack__(max_version=(1, 0)), frame.planes[0].__dlpack__(max_version=(1, 0))]
        frame.release()
        self.assertEqual(self.held(), 1)
        capsules.pop()
        self.assertEqual(self.held(), 1)
        capsules.pop()
        self.assertEqual(self.held(), 0)

    def test_earlier_versions_get_a_copy(self):
        frame = self.frame_of(5)
        before = framewire.copies()
        capsule = frame.__dlpack__()
        legacy = ctypes.cast(get_pointer(capsule, b"dltensor"), ctypes.POINTER(Legacy)).contents
        self.assertEqual(framewire.copies(), before + 1)
        self.assertNotEqual(legacy.tensor.data, frame.numpy().ctypes.data)
        self.assertEqual(ctypes.string_at(legacy.tensor.data, 8 * 6 * 4), bytes(frame))
        self.assertRaisesRegex(BufferError, "copy", frame.__dlpack__, copy=False)
        frame.release()
        self.assertEqual(self.held(), 0)

    def test_a_copy_is_writable_and_says_so(self):
        frame = self.frame_of(5)
        managed = consume(frame.__dlpack__(max_version=(1, 0), copy=True))
        self.assertEqual(managed.flags, IS_COPIED)
        managed.deleter(ctypes.addressof(managed))

    def test_other_devices_and_streams_are_refused(self):
        frame = self.frame_of(5)
        self.assertRaisesRegex(BufferError, r"\(1, 0\), not \(2, 0\)", frame.__dlpack__, dl_device=(2, 0))
        self.assertRaisesRegex(BufferError, "stream", frame.__dlpack__, stream=1)
        self.assertRaises(TypeError, frame.__dlpack__, max_version=1)
        self.assertRaisesRegex(BufferError, "2 planes", self.frame_of(5, "nv12").__dlpack__)

    def test_torch_takes_copies_by_dlpack(self):
        frame = self.frame_of(200)
        before = framewire.copies()
        tensor = torch.from_dlpack(frame)
        self.assertEqual(framewire.copies(), before + 1)
        tensor += 1
        self.assertEqual((int(tensor.min()), int(frame.numpy().max()), tuple(tensor.shape)), (201, 200, (6, 8, 4)))
        frame.release()
        self.assertEqual(self.held(), 0)

    def test_torch_takes_frames_by_numpy(self):
        frame = self.frame_of(0x4440, "p010le")
        before = framewire.copies()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            tensor = torch.from_numpy(frame.planes[0].view("int16").numpy())
        self.assertEqual(framewire.copies(), before)
        self.assertEqual((tensor.dtype, int(tensor.max())), (torch.int16, 0x4440))
        self.assertEqual(tensor.data_ptr(), frame.planes[0].numpy().ctypes.data)
        frame.release()
        self.assertEqual(self.held(), 1)
        del tensor
        gc.collect()
        self.assertEqual(self.held(), 0)

    def test_slots_go_to_torch_without_a_copy(self):
        stream, receiver = self.pair((8, 6), "rgba+grayf32le")
        slot = stream.claim(timeout=30)
        before = framewire.copies()
        colours, distances = (torch.from_dlpack(plane) for plane in slot.planes)
        colours.fill_(7)
        distances.fill_(float("inf"))
        self.assertEqual((framewire.copies(), distances.dtype), (before, torch.float32))
        del colours, distances
        slot.publish()
        frame = receiver.acquire(timeout=30)
        self.assertEqual((frame.planes[0].numpy().min(), frame.planes[1].numpy().min()), (7, numpy.inf))


if __name__ == "__main__":
    unittest.main(verbosity=2)
