"""Reads the programs' output: PNG files, stamped frames, and the counter that gl: draws into its pictures."""
import pathlib
import struct
import subprocess
import zlib


class Picture:
    """Packed pixels of `channels` bytes, top row first."""

    def __init__(self, width: int, height: int, channels: int, pixels: bytes):
        assert len(pixels) == width * height * channels, "as many pixels as the size says"
        self.width, self.height, self.channels, self.pixels = width, height, channels, pixels

    def at(self, x: float, y: float) -> tuple:
        """Red, green, blue; x and y from 0 to 1."""
        place = (int(y * self.height) * self.width + int(x * self.width)) * self.channels
        return tuple(self.pixels[place:place + 3])

    def colours(self) -> int:
        return len({self.pixels[i:i + 3] for i in range(0, len(self.pixels), self.channels)})


def read_png(path: pathlib.Path) -> Picture:
    """8 bits per channel, grey, RGB or RGBA, not interlaced (ISO/IEC 15948); checks every CRC."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG"
    at, packed, header = 8, b"", None
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body), f"CRC of {kind}"
        header = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, bits, colour, _, _, interlace = header
    assert bits == 8 and colour in (0, 2, 6) and interlace == 0, header
    channels = {0: 1, 2: 3, 6: 4}[colour]
    return Picture(width, height, channels, _unfilter(zlib.decompress(packed), width * channels, height, channels))


def _paeth(a: int, b: int, c: int) -> int:
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def _unfilter(raw: bytes, pitch: int, height: int, step: int) -> bytes:
    rows, above = [], bytes(pitch)
    for y in range(height):
        kind, row = raw[y * (pitch + 1)], bytearray(raw[y * (pitch + 1) + 1:(y + 1) * (pitch + 1)])
        for x in range(pitch if kind else 0):
            left = row[x - step] if x >= step else 0
            corner = above[x - step] if x >= step else 0
            row[x] = (row[x] + (0, left, above[x], (left + above[x]) // 2, _paeth(left, above[x], corner))[kind]) & 255
        above = bytes(row)
        rows.append(above)
    return b"".join(rows)


def read_by_ffmpeg(*arguments) -> bytes:
    """Returns the raw frames that ffmpeg decodes."""
    command = ["ffmpeg", "-v", "error", "-nostdin", *[str(a) for a in arguments], "-f", "rawvideo", "-"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=120).stdout


def y4m_frames(data: bytes, frame_bytes: int) -> tuple[str, list[bytes]]:
    """Returns the header and the frames of a y4m file; an incomplete frame is an error."""
    header, _, rest = data.partition(b"\n")
    frames = []
    while rest:
        assert rest.startswith(b"FRAME\n"), rest[:20]
        assert len(rest) >= 6 + frame_bytes, "the last frame is not whole"
        frames.append(rest[6:6 + frame_bytes])
        rest = rest[6 + frame_bytes:]
    return header.decode(), frames


# ---- pattern:stamped

MASK = (1 << 64) - 1


def stamp_of(sequence: int, line: int) -> int:
    """The finaliser of splitmix64, as frame/stamp.cpp has it."""
    z = (sequence * 0x9E3779B97F4A7C15 + line) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


SEQUENCES = {stamp_of(sequence, 0): sequence for sequence in range(200_000)}


def sequence_of(frame: bytes) -> int:
    """Returns the number of a stamped frame. A line without the stamp of that number is an error: the frame is torn."""
    sequence = SEQUENCES[struct.unpack_from("<Q", frame)[0]]
    for line in range(0, len(frame) // 64):
        expected = struct.pack("<Q", stamp_of(sequence, line)) * 8
        if frame[64 * line:64 * line + 64] != expected:
            raise AssertionError(f"frame {sequence} is torn in line {line}")
    return sequence


class StampedRecording:
    """A growing file into which a viewer records raw frames of pattern:stamped."""

    def __init__(self, path: pathlib.Path, frame_bytes: int):
        self.path, self.frame_bytes = path, frame_bytes

    def count(self) -> int:
        return self.path.stat().st_size // self.frame_bytes if self.path.exists() else 0

    def sequences(self, first: int = 0, last: int | None = None) -> list[int]:
        """Checks the recorded frames `first` up to `last`; returns their sequence numbers."""
        last = self.count() if last is None else last
        with self.path.open("rb") as file:
            file.seek(first * self.frame_bytes)
            return [sequence_of(file.read(self.frame_bytes)) for _ in range(last - first)]


class RecordedPictures:
    """A growing file into which a viewer records its picture, as raw RGBA."""

    def __init__(self, path: pathlib.Path, width: int, height: int):
        self.path, self.width, self.height = path, width, height

    def newest(self) -> Picture | None:
        size_bytes = 4 * self.width * self.height
        count = self.path.stat().st_size // size_bytes if self.path.exists() else 0
        if count == 0:
            return None
        with self.path.open("rb") as file:
            file.seek((count - 1) * size_bytes)
            return Picture(self.width, self.height, 4, file.read(size_bytes))


# ---- the counter of gl:, as gl/counter_text.cpp draws it

DIGITS = {
    "0": (0x7C, 0xC6, 0xC6, 0xC6, 0xC6, 0xC6, 0x7C), "1": (0x18, 0x38, 0x78, 0x18, 0x18, 0x18, 0x7E),
    "2": (0x7C, 0xC6, 0x06, 0x1C, 0x70, 0xC0, 0xFE), "3": (0x7C, 0xC6, 0x06, 0x3C, 0x06, 0xC6, 0x7C),
    "4": (0x1C, 0x3C, 0x6C, 0xCC, 0xFE, 0x0C, 0x0C), "5": (0xFE, 0xC0, 0xFC, 0x06, 0x06, 0xC6, 0x7C),
    "6": (0x7C, 0xC0, 0xC0, 0xFC, 0xC6, 0xC6, 0x7C), "7": (0xFE, 0x06, 0x0C, 0x18, 0x30, 0x30, 0x30),
    "8": (0x7C, 0xC6, 0xC6, 0x7C, 0xC6, 0xC6, 0x7C), "9": (0x7C, 0xC6, 0xC6, 0x7E, 0x06, 0x06, 0x7C),
}


def read_counter(picture: Picture) -> int:
    """Reads the frame's number from a picture that has the size the sender rendered."""
    scale = max(min((picture.height + 180) // 360, picture.width // (26 * 8)), 1)
    digits = ""
    for place in range(len("frame "), len("frame 000000")):
        rows = []
        for y in range(7):
            bits = 0
            for x in range(8):
                px, py = scale * (12 + 8 * place + x) + scale // 2, scale * (12 + y) + scale // 2
                green = picture.pixels[(py * picture.width + px) * picture.channels + 1]
                bits = bits << 1 | (green > 160)
            rows.append(bits)
        digits += next((digit for digit, shape in DIGITS.items() if shape == tuple(rows)), "?")
    assert digits.isdigit(), f"the counter says {digits}"
    return int(digits)
