"""libframewire.so.0, as other programs use it, over RDMA: it loads the verbs by itself."""
import ctypes
import pathlib
import re

import lab
from lab import harness

LIBRARY = harness.BIN.parent / "lib" / "libframewire.so.0"
TIMEOUT_NS = 60_000_000_000
RGBA = 2
FW_OK = 0


class Option(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Settings(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("options", ctypes.POINTER(Option)),
                ("option_count", ctypes.c_size_t), ("log", ctypes.c_void_p), ("log_user", ctypes.c_void_p)]

    @classmethod
    def of(cls, **options: str) -> "Settings":
        values = (Option * len(options))(*(Option(name.encode(), value.encode()) for name, value in options.items()))
        return cls(ctypes.sizeof(cls), values, len(options), None, None)


class ViewStart(ctypes.Structure):
    """The first fields of fw_view."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("memory", ctypes.c_int32), ("flags", ctypes.c_uint32),
                ("pixel_format", ctypes.c_int32), ("width", ctypes.c_uint32), ("height", ctypes.c_uint32),
                ("plane_count", ctypes.c_uint32), ("data", ctypes.c_void_p), ("size_bytes", ctypes.c_uint64)]


def loaded_libraries() -> set[str]:
    maps = pathlib.Path("/proc/self/maps").read_text()
    return set(re.findall(r"lib(?:ibverbs|rdmacm)\b", maps))


class CLibrary(lab.RdmaTest):
    def call(self, name: str, *arguments) -> int:
        result = getattr(self.library, name)(*arguments)
        self.assertGreaterEqual(result, 0, f"{name}: {self.library.fw_message().decode()}")
        return result

    def make(self, name: str, *arguments) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def view(self, name: str, handle: ctypes.c_void_p) -> ViewStart:
        room = ctypes.create_string_buffer(1024)
        self.call(name, handle, room, ctypes.c_size_t(len(room)))
        return ViewStart.from_buffer_copy(room)

    def test_frames_arrive_and_verbs_are_loaded_when_they_are_needed(self):
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.fw_message.restype = ctypes.c_char_p
        self.assertEqual(loaded_libraries(), set())
        sender = self.make("fw_sender_create", ctypes.byref(Settings.of(listen=f"{lab.ADDRESS}:0", insecure="yes")))
        stream = self.make("fw_sender_add_stream", sender, b"render", ctypes.byref(Settings.of(delivery="every")))
        self.call("fw_sender_start", sender)
        port = ctypes.c_uint16()
        self.call("fw_sender_port", sender, ctypes.byref(port))
        layout = ctypes.create_string_buffer(1024)
        self.call("fw_format_init", layout, ctypes.c_size_t(len(layout)), RGBA, 64, 36)
        self.call("fw_stream_begin", stream, layout, 0, None)
        receiver = self.make("fw_receiver_create", f"{lab.ADDRESS}:{port.value}".encode(),
                             ctypes.byref(Settings.of(transport="rdma", insecure="yes")))
        for value in range(20):
            slot = ctypes.c_void_p()
            self.assertEqual(self.call("fw_stream_claim", stream, ctypes.c_int64(TIMEOUT_NS), 0, ctypes.byref(slot)),
                             FW_OK)
            room = self.view("fw_slot_view", slot)
            ctypes.memset(room.data, value, room.size_bytes)
            self.call("fw_slot_publish", slot, None)
            self.library.fw_slot_unref(slot)
            frame = ctypes.c_void_p()
            self.assertEqual(
                self.call("fw_receiver_acquire", receiver, ctypes.c_int64(TIMEOUT_NS), ctypes.byref(frame)), FW_OK)
            shown = self.view("fw_frame_view", frame)
            self.assertEqual(ctypes.string_at(shown.data, shown.size_bytes), bytes([value]) * shown.size_bytes)
            self.library.fw_frame_unref(frame)
        self.assertEqual(loaded_libraries(), {"libibverbs", "librdmacm"})
        self.library.fw_receiver_destroy(receiver)
        self.library.fw_sender_destroy(sender)


if __name__ == "__main__":
    harness.main()
