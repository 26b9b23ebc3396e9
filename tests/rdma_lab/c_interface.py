"""libframewire.so.0 by ctypes, for tests in the lab: functions by name, results checked, handles as numbers."""
import ctypes
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402  (it is in the folder of the end-to-end tests)

LIBRARY = harness.BIN.parent / "lib" / "libframewire.so.0"
TIMEOUT_NS = 60_000_000_000
RGBA = 2
SIZE = (64, 36)
FW_OK, FW_NOTHING = 0, 1
FW_ERROR_FORKED = -8
FW_ERROR_ALL_HELD = -3
FW_STATE_CONNECTED, FW_STATE_LOST = 1, 2


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

    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.size_bytes)


class StreamCountsStart(ctypes.Structure):
    """The first fields of fw_stream_counts."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("frames_published", ctypes.c_uint64),
                ("frames_dropped", ctypes.c_uint64), ("viewers", ctypes.c_uint32), ("slots_in_use", ctypes.c_uint32)]


class CInterface:
    def __init__(self):
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.fw_message.restype = ctypes.c_char_p

    def result(self, name: str, *arguments) -> int:
        return getattr(self.library, name)(*arguments)

    def call(self, name: str, *arguments) -> int:
        result = self.result(name, *arguments)
        if result < 0:
            raise AssertionError(f"{name}: {self.library.fw_message().decode()}")
        return result

    def make(self, name: str, *arguments) -> ctypes.c_void_p:
        """What a function puts into its last parameter. The call must be FW_OK."""
        handle = ctypes.c_void_p()
        result = self.call(name, *arguments, ctypes.byref(handle))
        if result != FW_OK:
            raise AssertionError(f"{name} returned {result}")
        return handle

    def filled(self, name: str, handle: ctypes.c_void_p, kind):
        """The first fields of the structure that a function fills."""
        room = ctypes.create_string_buffer(1024)
        self.call(name, handle, room, ctypes.c_size_t(len(room)))
        return kind.from_buffer_copy(room)

    # ---- A sender of small pictures, and its receiver ----

    def sender(self, address: str, **options: str) -> tuple[ctypes.c_void_p, ctypes.c_void_p, int]:
        """One that has begun: the sender, its stream, and its port."""
        sender = self.make("fw_sender_create",
                           ctypes.byref(Settings.of(listen=f"{address}:0", insecure="yes", **options)))
        stream = self.make("fw_sender_add_stream", sender, b"render", ctypes.byref(Settings.of(delivery="every")))
        self.call("fw_sender_start", sender)
        port = ctypes.c_uint16()
        self.call("fw_sender_port", sender, ctypes.byref(port))
        layout = ctypes.create_string_buffer(1024)
        self.call("fw_format_init", layout, ctypes.c_size_t(len(layout)), RGBA, *SIZE)
        self.call("fw_stream_begin", stream, layout, 2, None)
        return sender, stream, port.value

    def receiver(self, source: str, **options: str) -> ctypes.c_void_p:
        return self.make("fw_receiver_create", source.encode(),
                         ctypes.byref(Settings.of(transport="rdma", insecure="yes", **options)))

    def claim(self, stream: ctypes.c_void_p) -> ctypes.c_void_p:
        return self.make("fw_stream_claim", stream, ctypes.c_int64(TIMEOUT_NS), 0)

    def publish(self, slot: ctypes.c_void_p, value: int):
        """Fills the slot with this byte, and publishes it. It stays the caller's."""
        room = self.filled("fw_slot_view", slot, ViewStart)
        ctypes.memset(room.data, value, room.size_bytes)
        self.call("fw_slot_publish", slot, None)

    def send(self, stream: ctypes.c_void_p, value: int):
        slot = self.claim(stream)
        self.publish(slot, value)
        self.library.fw_slot_unref(slot)

    def acquire(self, receiver: ctypes.c_void_p) -> ctypes.c_void_p:
        return self.make("fw_receiver_acquire", receiver, ctypes.c_int64(TIMEOUT_NS))

    def bytes_of(self, frame: ctypes.c_void_p) -> bytes:
        return self.filled("fw_frame_view", frame, ViewStart).bytes()

    def counts(self, stream: ctypes.c_void_p) -> StreamCountsStart:
        return self.filled("fw_stream_get_counts", stream, StreamCountsStart)

    def state(self, receiver: ctypes.c_void_p) -> int:
        state = ctypes.c_int32()
        self.call("fw_receiver_state", receiver, ctypes.byref(state), None, ctypes.c_size_t(0))
        return state.value


def picture_of(value: int) -> bytes:
    """What a picture's bytes are."""
    return bytes([value]) * (SIZE[0] * SIZE[1] * 4)
