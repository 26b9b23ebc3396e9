"""Pictures that VA-API decoded come to the slots as DMA-BUFs, by EGL and OpenGL.

The kernel's vgem gives a render node without a GPU. The tests' driver of VA-API (tests/vaapi) puts its surfaces into
vgem's memory, and Mesa's software renderer imports that, as a GPU's driver would."""
import ctypes
import pathlib
import subprocess
import sys
import unittest

from c_interface import CInterface, Settings
from lab import harness
from harness import BIN

CARD, NODE = pathlib.Path("/dev/dri/card0"), "/dev/dri/renderD128"
WIDTH, HEIGHT, FRAMES = 96, 54, 8
WORDS = "is decoded by vaapi, and the processor copies its pictures: "


def picture(number: int, *, bits: int = 8, left: int = 0, top: int = 0, width: int = WIDTH,
            height: int = HEIGHT) -> bytes:
    """What is decoded as this one of the film (tests/nvdec/pattern.hpp)."""
    samples = [number * 37 + plane * 101 + (left + x) * 3 + ((top >> plane) + y) * 5 for plane in (0, 1)
               for y in range(height >> plane) for x in range(width)]
    if bits == 8:
        return bytes(sample & 255 for sample in samples)
    return b"".join(((sample & 1023) << 6).to_bytes(2, "little") for sample in samples)


def why_not() -> str:
    """Why this machine has no such node; empty: it has."""
    loaded = subprocess.run(["modprobe", "vgem"], capture_output=True, text=True, check=False)
    if loaded.returncode != 0:
        return f"the kernel has no vgem ({loaded.stderr.strip()})"
    return "" if CARD.exists() and pathlib.Path(NODE).exists() else f"vgem makes no {NODE}"


class DmaBuf(harness.EndToEnd):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why := why_not():
            print(f"not run: {why}", file=sys.stderr)
            raise unittest.SkipTest(why)

    def setUp(self):
        super().setUp()
        self.interface = CInterface()

    def with_driver(self, **more) -> dict:
        return self.environment(LIBVA_DRIVER_NAME="standin",
                                LIBVA_DRIVERS_PATH=str(BIN.parent / "tests/vaapi_stand_in"),
                                FRAMEWIRE_STAND_IN_VA_CARD=str(CARD), **{"LIBGL_ALWAYS_SOFTWARE": "1"} | more)

    def film(self, *encoding) -> pathlib.Path:
        film = self.file("film.mkv")
        encoding = encoding or ("-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p", "-x264-params", "scenecut=0")
        self.run_to_end(harness.require_tool("ffmpeg"), "-y", "-loglevel", "error", "-f", "lavfi", "-i",
                        f"testsrc2=size={WIDTH}x{HEIGHT}:rate=8:duration={FRAMES / 8}", *encoding, "-g", "100", film)
        return film

    def shown(self, film, *options, hwaccel=f"vaapi:{NODE}", **environment) -> tuple[harness.Program, bytes]:
        """The sender, which has ended, and its frames, which the C library gets: a viewer would compile its shaders
        first, which takes most of a minute on an emulated processor."""
        sends = self.send_on(film, "--hwaccel", hwaccel, "--delivery", "every", "--no-pace", "--verbose", *options,
                             environment=self.with_driver(**environment))
        frames = self.receive(sends, FRAMES)
        self.ends(sends)
        return sends, frames

    def receive(self, sends: harness.Program, count: int) -> bytes:
        receiver = self.interface.make("fw_receiver_create", sends.address.encode(),
                                       ctypes.byref(Settings.of(delivery="every", timeout="60s")))
        try:
            frames = b""
            for _ in range(count):
                frame = self.interface.acquire(receiver)
                frames += self.interface.bytes_of(frame)
                self.interface.library.fw_frame_unref(frame)
            return frames
        finally:
            self.interface.library.fw_receiver_destroy(receiver)

    def check_by_gpu(self, sends: harness.Program, frames: bytes, wanted: bytes, codec: str = "h264"):
        self.assertRegex(sends.text, rf"stream film: .*, {codec} \(vaapi, DMA-BUF\), ")
        self.assertEqual(self.stats(sends)["decoder"], f"{codec} (vaapi, DMA-BUF)")
        self.assertIn(f"and {FRAMES} were copied there by the device that decodes", sends.text)
        self.assertNotIn("processor", sends.text)
        self.assertTrue(frames == wanted)

    def empty_egl(self) -> pathlib.Path:
        """A folder of libraries in which EGL cannot be loaded."""
        folder = self.file("libraries")
        folder.mkdir()
        for name in ("libEGL.so", "libEGL.so.1"):
            (folder / name).touch()
        return folder

    def test_every_picture_arrives_as_it_was_decoded(self):
        """Each plane in a layer of one buffer, both in one layer, and each in a buffer of its own."""
        film, wanted = self.film(), b"".join(picture(i) for i in range(FRAMES))
        for way, hwaccel in (("", "vaapi"), ("composed", f"vaapi:{NODE}"), ("objects", "auto")):
            self.check_by_gpu(*self.shown(film, hwaccel=hwaccel, FRAMEWIRE_STAND_IN_VA_EXPORT=way), wanted)

    def test_a_picture_that_is_cropped(self):
        film = self.film("-c:v", "libx264", "-pix_fmt", "yuv420p", "-x264-params", "scenecut=0:crop-rect=16,6,20,10")
        wanted = b"".join(picture(i, left=16, top=6, width=60, height=38) for i in range(FRAMES))
        self.check_by_gpu(*self.shown(film), wanted)

    def test_ten_bits(self):
        film = self.film("-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", "log-level=none:scenecut=0")
        self.check_by_gpu(*self.shown(film), b"".join(picture(i, bits=10) for i in range(FRAMES)), codec="hevc")

    def test_a_film_that_is_converted_takes_the_processors_way(self):
        sends, frames = self.shown(self.film(), "--pix-fmt", "yuv420p")
        self.assertEqual(self.stats(sends)["decoder"], "h264 (vaapi)")
        planes = [picture(i) for i in range(FRAMES)]
        wanted = b"".join(one[:WIDTH * HEIGHT] + one[WIDTH * HEIGHT::2] + one[WIDTH * HEIGHT + 1::2] for one in planes)
        self.assertTrue(frames == wanted)
        self.assertNotIn(WORDS, sends.text)

    def test_a_failure_in_the_middle_loses_no_picture(self):
        sends, frames = self.shown(self.film(), FRAMEWIRE_STAND_IN_VA_FAULT="vaExportSurfaceHandle",
                                   FRAMEWIRE_STAND_IN_VA_FAULT_FROM="4")
        self.assertRegex(sends.text, r"stream film: .*, h264 \(vaapi, DMA-BUF\), ")
        self.assertRegex(sends.text, f"warning: .*{WORDS}the VA-API driver exports no DMA-BUF .*Failed to export")
        self.assertEqual(self.stats(sends)["decoder"], "h264 (vaapi)")
        self.assertEqual(self.stats(sends)["frames_unfilled"], 0)
        self.assertTrue(frames == b"".join(picture(i) for i in range(FRAMES)))

    def test_whatever_is_refused_is_told_and_the_processor_copies(self):
        """Each program takes seconds to load Mesa here. tests/media has all nonsense of descriptors."""
        film = self.film()
        cases = (({"FAULT": "no vaExportSurfaceHandle"}, "the VA-API driver exports no DMA-BUF .*not implemented"),
                 ({"EXPORT": "size"}, "the VA-API driver describes a DMA-BUF with .* bytes of "),
                 ({"EXPORT": "modifier"}, r"the driver \(llvmpipe.* does not import such a DMA-BUF .*modifier 0x1"),
                 ({"EXPORT": "shifted"}, "OpenGL read other bytes than the processor"),
                 ({"MESA": "-GL_OES_EGL_image"}, r"the driver \(llvmpipe.* has no GL_OES_EGL_image"),
                 ({"LIBRARIES": str(self.empty_egl())}, "EGL 1.5 is not on this machine"),
                 ({"VENDORS": "/dev/null", "SOFTWARE": "0"}, "EGL (lists no devices|has no device of /dev/dri)"),
                 ({"SOFTWARE": "0"}, "OpenGL draws by the processor there .*llvmpipe"))
        names = {"FAULT": "FRAMEWIRE_STAND_IN_VA_FAULT", "EXPORT": "FRAMEWIRE_STAND_IN_VA_EXPORT",
                 "MESA": "MESA_EXTENSION_OVERRIDE", "SOFTWARE": "LIBGL_ALWAYS_SOFTWARE",
                 "LIBRARIES": "LD_LIBRARY_PATH", "VENDORS": "__EGL_VENDOR_LIBRARY_FILENAMES"}
        for changes, words in cases:
            changed = {names[key]: value for key, value in changes.items()}
            if changes == {"EXPORT": "shifted"}:
                sends, frames = self.shown(film, **changed)
                self.assertTrue(frames == b"".join(picture(i) for i in range(FRAMES)))
            else:
                sends = self.send_on(film, "--hwaccel", f"vaapi:{NODE}", environment=self.with_driver(**changed))
                sends.interrupt()
                self.ends(sends)
            self.assertRegex(sends.text, f"'.*film.mkv' {WORDS}{words}")
            self.assertRegex(sends.text, r"stream film: .*, h264 \(vaapi\), ")

    def test_it_ends_at_once_when_it_is_interrupted(self):
        sends = self.send_on(self.film(), "--hwaccel", f"vaapi:{NODE}", "--loop", "--delivery", "every",
                             environment=self.with_driver())
        self.assertTrue(self.receive(sends, FRAMES + 3).endswith(b"".join(picture(i) for i in range(3))))
        sends.interrupt()
        self.ends(sends)
        self.assertEqual(self.stats(sends)["decoder"], "h264 (vaapi, DMA-BUF)")


if __name__ == "__main__":
    harness.main()
