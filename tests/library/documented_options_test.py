"""docs/library.md lists the options that the library takes, all of them, each for the right handle."""
import ctypes
import os
import pathlib
import re
import unittest

import abi

LIBRARY = pathlib.Path(os.environ.get("FRAMEWIRE_BUILD", abi.ROOT / "build" / "release")) / "lib" / abi.SONAME
DOCUMENT = abi.ROOT / "docs" / "library.md"


class Option(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Settings(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("options", ctypes.POINTER(Option)), ("count", ctypes.c_size_t),
                ("log", ctypes.c_void_p), ("log_user", ctypes.c_void_p)]


def documented() -> dict[str, set[str]]:
    """The options by the letter of what takes them: S, T or R."""
    rows = re.findall(r"^\| `([\w-]+)` \| ([STR ]+) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    return {letter: {name for name, letters in rows if letter in letters.split()} for letter in "STR"}


class Options(unittest.TestCase):
    def setUp(self):
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.fw_message.restype = ctypes.c_char_p
        self.option = Option(b"no-such-option", b"1")
        self.settings = Settings(ctypes.sizeof(Settings), ctypes.pointer(self.option), 1, None, None)
        self.handle = ctypes.c_void_p()

    def taken(self, result: int) -> set[str]:
        """The options that the message about an unknown one names."""
        message = self.library.fw_message().decode()
        self.assertEqual(result, -1, message)
        return set(re.search(r"'no-such-option' here; it takes (.+)$", message)[1].split(", "))

    def test_a_sender(self):
        result = self.library.fw_sender_create(ctypes.byref(self.settings), ctypes.byref(self.handle))
        self.assertEqual(self.taken(result), documented()["S"])

    def test_a_stream(self):
        sender = ctypes.c_void_p()
        self.assertEqual(self.library.fw_sender_create(None, ctypes.byref(sender)), 0)
        result = self.library.fw_sender_add_stream(sender, b"name", ctypes.byref(self.settings),
                                                   ctypes.byref(self.handle))
        self.assertEqual(self.taken(result), documented()["T"])
        self.library.fw_sender_destroy(sender)

    def test_a_receiver(self):
        result = self.library.fw_receiver_create(b"localhost", ctypes.byref(self.settings), ctypes.byref(self.handle))
        self.assertEqual(self.taken(result), documented()["R"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
