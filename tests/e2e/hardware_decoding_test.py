"""--hwaccel without a GPU: the sender loads the tests' libcuda.so.1 (tests/cuda) and libnvcuvid.so.1 (tests/nvdec), or
libva their driver (tests/vaapi), and libav decodes by them. Their pictures are a pattern (tests/nvdec/pattern.hpp) of
each picture's place in the film."""
import os
import pathlib
import unittest

import harness
import windows
from gpu_programs import CUDA, IMPORTING, STAND_IN
from harness import BIN, FAILED, USAGE

WIDTH, HEIGHT, FRAMES = 320, 180, 30


def nv12(number: int) -> bytes:
    """The picture that is decoded as this one of the film."""
    planes = [bytes((number * 37 + plane * 101 + x * 3 + y * 5) & 255 for y in range(HEIGHT >> plane)
                    for x in range(WIDTH)) for plane in (0, 1)]
    return b"".join(planes)


class HardwareDecoding(harness.EndToEnd):
    def film(self, *encoding) -> pathlib.Path:
        film = self.file("film.mkv")
        encoding = encoding or ("-c:v", "libx264", "-bf", "3", "-pix_fmt", "yuv420p", "-x264-params",
                                 "scenecut=0")
        self.run_to_end(harness.require_tool("ffmpeg"), "-y", "-loglevel", "error", "-f", "lavfi", "-i",
                        f"testsrc2=size={WIDTH}x{HEIGHT}:rate=30:duration={FRAMES / 30}", *encoding, "-g", "100", film)
        return film

    def with_gpu(self, *libraries) -> dict:
        """An environment with the stand-ins for the driver's libraries, or only with these of them."""
        folder = STAND_IN
        if libraries:
            folder = self.file("driver")
            folder.mkdir()
            for library in libraries:
                (folder / library).symlink_to(STAND_IN / library)
        paths = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return self.environment(LD_LIBRARY_PATH=":".join(paths), FRAMEWIRE_STAND_IN_UUID=IMPORTING)

    def check_loads_no_opengl(self, sends: harness.Program):
        self.assertNotIn("libEGL", pathlib.Path(f"/proc/{sends.pid}/maps").read_text())

    def refused(self, *arguments, environment=None) -> "harness.Program":
        sends = self.send(*arguments, environment=environment or self.environment())
        self.ends(sends, FAILED)
        return sends


class Films(HardwareDecoding):
    def test_every_picture_arrives_as_the_gpu_decoded_it(self):
        film, environment = self.film(), self.with_gpu()
        wanted = b"".join(nv12(i) for i in range(FRAMES))
        for sender, viewer in (((), ()), (CUDA, ()), (CUDA, CUDA)):
            frames = self.file("frames.raw")
            sends = self.send_on(film, "--hwaccel", "cuda", "--delivery", "every", *sender, environment=environment)
            self.check_loads_no_opengl(sends)
            views = self.view(sends.address, "--delivery", "every", "--output", frames, *viewer,
                              environment=environment)
            self.ends(sends)
            self.ends(views)
            sent, shown = self.checked_stats(sends, views)
            self.assertRegex(sends.text, r"stream film: .*, h264 \(cuda\), 320x180 nv12 30 fps")
            self.assertEqual(sent["decoder"], "h264 (cuda)")
            self.assertEqual((shown["frames_received"], sent["frames_unfilled"]), (FRAMES, 0))
            self.assertTrue(frames.read_bytes() == wanted, (sender, viewer))
            self.assertNotIn("warning", sends.text)

    def test_the_viewer_draws_what_the_gpu_decoded(self):
        """A picture of it, and one of the same frames that come from the processor, are the same."""
        film, environment = self.film(), self.with_gpu()
        raw = self.file("pattern.raw")
        raw.write_bytes(b"".join(nv12(i) for i in range(FRAMES)))
        pictures = []
        raw_options = ("-f", "rawvideo", "--size", f"{WIDTH}x{HEIGHT}", "--pix-fmt", "nv12", "--fps", "30")
        for source, memory in (((raw, *raw_options), ()), ((film, "--hwaccel", "cuda"), ()),
                               ((film, "--hwaccel", "cuda"), CUDA)):
            picture = self.file("picture.png")
            sends = self.send_on(*source, *memory, "--delivery", "every", environment=environment)
            views = self.view(sends.address, "--delivery", "every", "--size", f"{WIDTH}x{HEIGHT}", *memory,
                              "--screenshot", picture, environment=environment)
            self.ends(sends)
            self.ends(views)
            pictures.append(picture.read_bytes())
        self.assertEqual(pictures[1:], [pictures[0]] * 2)

    @unittest.skipIf(harness.has_cuda_driver(), "this machine has a driver")
    def test_auto_decodes_by_the_processor_where_there_is_no_gpu(self):
        without_drivers = self.environment(LIBVA_DRIVERS_PATH=str(self.folder))
        sends = self.send_on(self.film(), "--hwaccel", "auto", "--loop", environment=without_drivers)
        views = self.view(sends.address, "--frames", "10")
        self.ends(views)
        sends.interrupt()
        self.ends(sends)
        # Virtual machines, too, may have a render node; what is wrong then is said in libva's words.
        why = ".+" if list(pathlib.Path("/dev/dri").glob("renderD*")) else ".*/dev/dri.*"
        self.assertRegex(sends.text, rf"'.*film.mkv' is decoded by the processor \(cuda: .*; vaapi: {why}\)")
        self.assertEqual(self.stats(sends)["decoder"], "h264")

    def test_a_source_that_is_no_film_has_no_decoder(self):
        sends = self.send_on("pattern", "--size", "64x36", "--frames", "5")
        self.ends(self.view(sends.address))
        self.ends(sends)
        self.assertIsNone(self.stats(sends)["decoder"])


class SourceThatComesBack(HardwareDecoding):
    """A network source that is lost, and has another codec when it is back."""

    def serve(self, port: int, *encoding):
        return self.start(harness.require_tool("ffmpeg"), "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i",
                          f"testsrc2=size={WIDTH}x{HEIGHT}:rate=30", *encoding, "-g", "5", "-f", "nut",
                          f"tcp://127.0.0.1:{port}?listen=1")

    def comes_back_otherwise(self, hwaccel: str, environment: dict):
        """The sender, and its viewer, when the source is there again with a codec that no GPU decodes."""
        port = harness.free_port()
        source = self.serve(port, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p")
        harness.wait_until(lambda: harness.listening_on(port), "ffmpeg to listen")
        sends = self.send_on("--name", "camera", f"tcp://127.0.0.1:{port}", "--hwaccel", hwaccel,
                             environment=environment)
        self.assertRegex(sends.text, r"stream camera: .*, h264 \(cuda\), ")
        views = self.view(sends.address)
        views.wait_line("^transport=")
        source.kill()
        sends.wait_line(r"warning: .* breaks off after .*opened again \(loss 1\)")
        self.serve(port, "-c:v", "ffv1", "-pix_fmt", "yuv420p")
        return sends, views

    def test_auto_goes_on_by_the_processor(self):
        sends, views = self.comes_back_otherwise("auto", self.with_gpu())
        sends.wait_line(r"is decoded by the processor \(cuda: libav does not decode ffv1 by it; vaapi: ")
        sends.wait_line("is back after")
        sends.interrupt()
        self.ends(sends)
        self.ends(views)
        self.assertEqual(sends.text.count("is decoded by the processor"), 1, sends.text)
        self.assertEqual(self.stats(sends)["decoder"], "ffv1")

    def test_cuda_ends_with_one_message(self):
        """Though it would look for the source for ever."""
        sends, views = self.comes_back_otherwise("cuda", self.with_gpu())
        self.ends(sends, FAILED)
        self.ends(views)
        self.one_message(sends, "cannot decode 'tcp:.*' by cuda: libav does not decode ffv1 by it", "--hwaccel auto",
                         beside="opened again")


class VaApi(windows.OnADisplay, HardwareDecoding):
    """libva needs no render node where an X server is there, and the environment names its driver. With a node:
    tests/rdma_lab/vaapi_dma_buf_test.py."""

    def with_driver(self, **more) -> dict:
        return self.environment(LIBVA_DRIVER_NAME="standin",
                                LIBVA_DRIVERS_PATH=str(BIN.parent / "tests/vaapi_stand_in"), **more)

    def test_every_picture_arrives_as_it_was_decoded(self):
        frames = self.file("frames.raw")
        sends = self.send_on(self.film(), "--hwaccel", f"vaapi:{self.display}", "--delivery", "every",
                             environment=self.with_driver())
        self.check_loads_no_opengl(sends)
        views = self.view(sends.address, "--delivery", "every", "--output", frames)
        self.ends(sends)
        self.ends(views)
        self.assertRegex(sends.text, r"stream film: .*, h264 \(vaapi\), 320x180 nv12 30 fps")
        self.assertEqual(self.stats(sends)["decoder"], "h264 (vaapi)")
        self.assertRegex(sends.text, "is decoded by vaapi, and the processor copies its pictures: the device was not "
                                     "named by a node")
        self.assertTrue(frames.read_bytes() == b"".join(nv12(i) for i in range(FRAMES)))

    def test_whatever_fails_is_told(self):
        film = self.film()
        for function, words in (("vaInitialize", "vaapi"), ("vaCreateConfig", "Failed to create decode configuration"),
                                ("vaCreateSurfaces", "Failed to create surface"),
                                ("vaCreateContext", "Failed to create decode context"),
                                ("vaBeginPicture", "Failed to begin picture decode"),
                                ("vaEndPicture", "Failed to end picture decode"),
                                ("vaGetImage", "Failed to read image")):
            sends = self.refused(film, "--hwaccel", f"vaapi:{self.display}",
                                 environment=self.with_driver(FRAMEWIRE_STAND_IN_VA_FAULT=function))
            self.one_message(sends, "cannot decode '.*film.mkv'", words, "--hwaccel auto would take the processor then")


class Refusals(HardwareDecoding):
    @unittest.skipIf(harness.has_cuda_driver(), "this machine has a driver")
    def test_without_a_driver(self):
        self.one_message(self.refused(self.film(), "--hwaccel", "cuda"), "cannot decode '.*film.mkv' by cuda: ",
                         "this machine has no libcuda.so.1", "--hwaccel auto would take the processor then")

    def test_a_driver_without_a_decoder(self):
        self.one_message(self.refused(self.film(), "--hwaccel", "cuda", environment=self.with_gpu("libcuda.so.1")),
                         "cannot decode '.*film.mkv': cuda failed: Cannot load libnvcuvid.so.1")

    def test_a_codec_that_no_gpu_decodes(self):
        film = self.film("-c:v", "ffv1")
        self.one_message(self.refused(film, "--hwaccel", "cuda", environment=self.with_gpu()),
                         "libav does not decode ffv1 by it")

    def test_without_a_render_node(self):
        self.one_message(self.refused(self.film(), "--hwaccel", "vaapi:/dev/dri/renderD999"),
                         "cannot decode '.*film.mkv' by vaapi: .*/dev/dri/renderD999")

    def test_another_gpu_than_that_of_the_memory(self):
        sends = self.send(self.film(), *CUDA, "--hwaccel", "cuda:GPU-0123", environment=self.with_gpu())
        self.ends(sends, FAILED)
        self.one_message(sends, "no GPU is 'GPU-0123'")

    def test_words_and_sources_that_have_no_decoder(self):
        for hwaccel in ("gpu", "cuda:", "nvdec"):
            sends = self.run_to_end(BIN / "framewire-send", "film.mkv", "--hwaccel", hwaccel)
            self.ends(sends, USAGE)
            self.one_message(sends, f"--hwaccel is '{hwaccel}'; it takes none, auto, cuda, cuda:GPU, vaapi")
        for source in ("pattern", "gl:", "-"):
            sends = self.run_to_end(BIN / "framewire-send", source, "--hwaccel", "cuda")
            self.ends(sends, USAGE)
            self.one_message(sends, "--hwaccel is for files, URLs and devices, and no SOURCE is one; leave it out")


if __name__ == "__main__":
    harness.main()
