"""--memory cuda with one GPU, which is that of tests/cuda."""
import json
import re
import unittest

import harness
from gpu_programs import CUDA, IMPORTING, LOST, GpuMemory
from harness import BIN, FAILED, USAGE


class Frames(GpuMemory):
    def test_every_frame_of_a_pattern_arrives_whole(self):
        for pixel_format in ("rgba", "nv12", "p010le", "yuv420p", "bgra"):
            sends, sent, views, shown = self.stream("pattern:stamped", "--size", "640x360", "--pix-fmt", pixel_format)
            self.assertEqual((sent["memory"], shown["memory"]), ("cuda", "cuda"))
            self.assertEqual(shown["frames_checked"], shown["frames_received"])
            for program in (sends, views):
                self.assertRegex(program.text, "transport=local memory=cuda ")
                self.assertNotIn("warning", program.text)

    def test_a_scene_is_drawn_into_the_slots_and_from_them(self):
        sends, sent, views, shown = self.stream("gl:waves", "--size", "640x360")
        self.assertIn("readback by GPU memory", sends.text)
        self.assertEqual((sent["memory"], shown["memory"], shown["upload"]), ("cuda", "cuda", "GPU memory"))

    def test_the_pictures_are_those_of_host_memory(self):
        scene = self.moving_scene()
        for pixel_format in ("rgba", "nv12", "yuv420p", "p010le", "yuv420p10le"):
            seen = []
            for memory in ((), CUDA):
                frames, picture = self.file("frames.raw"), self.file("picture.png")
                for saved in (("--output", frames), ("--screenshot", picture)):
                    self.stream(f"gl:{scene}", "--size", "320x180", "--pix-fmt", pixel_format, "--delivery", "every",
                                "--no-pace", sender=memory, viewer=(*memory, *saved), frames=8)
                seen.append((frames.read_bytes(), picture.read_bytes()))
            self.assertEqual(seen[0], seen[1], pixel_format)

    def test_so_are_those_that_leave_in_slices_while_the_gpu_copies_them(self):
        scene, frames = self.moving_scene(), self.file("frames.raw")
        seen = []
        for memory in ((), (*CUDA, "--slices", "1"), (*CUDA, "--slices", "7")):
            _, sent, _, _ = self.stream(f"gl:{scene}", "--size", "640x360", "--delivery", "every", "--no-pace",
                                        "--transport", "tcp", sender=memory, viewer=("--output", frames), frames=8)
            self.assertEqual(sent["memory"], "cuda>host" if memory else "host")
            seen.append(frames.read_bytes())
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_films_and_raw_frames_are_copied_to_the_gpu(self):
        film = self.file("film.mkv")
        self.run_to_end(harness.require_tool("ffmpeg"), "-loglevel", "error", "-f", "lavfi", "-i",
                        "testsrc=size=320x180:rate=30:duration=3", "-c:v", "libx264", "-pix_fmt", "yuv420p", film)
        _, sent, _, shown = self.stream(film, "--loop")
        self.assertEqual((sent["memory"], shown["memory"]), ("cuda", "cuda"))

    def test_a_viewer_in_host_memory_gets_copies(self):
        for transport in ("local", "tcp"):
            for source in ("pattern:stamped", "gl:waves"):
                _, sent, views, shown = self.stream(source, "--size", "640x360", "--transport", transport, viewer=())
                self.assertEqual((sent["memory"], shown["memory"]), ("cuda>host", "host"))
                self.assertNotIn("warning", views.text)

    def test_both_kinds_of_viewers_at_once(self):
        environment = self.with_gpu()
        sends = self.send_on("pattern:stamped", "--size", "640x360", *CUDA, environment=environment)
        viewers = [self.view(sends.address, "--frames", "60", *options, environment=environment)
                   for options in (CUDA, (), ("--transport", "tcp"), CUDA)]
        for views in viewers:
            self.ends(views)
        self.assertEqual([self.stats(views)["memory"] for views in viewers], ["cuda", "host", "host", "cuda"])

    def test_where_opengl_draws_with_another_device_frames_are_copied(self):
        sends, _, views, shown = self.stream("gl:waves", "--size", "640x360", uuid="ab" * 16)
        why = "OpenGL draws with another device"
        self.assertRegex(sends.text, f"copied to the memory of the streams' GPU, because {why}")
        self.assertRegex(views.text, f"warning: --memory is cuda, and frames are copied to host memory.*{why}")
        self.assertEqual(shown["memory"], "cuda")

    def test_memory_that_opengl_refuses_only_when_it_imports_it_is_copied(self):
        """Of the sender, whose film needs no OpenGL, and has the same picture in all of its frames."""
        film = self.file("film.mkv")
        self.run_to_end(harness.require_tool("ffmpeg"), "-loglevel", "error", "-f", "lavfi", "-i",
                        "smptebars=size=320x180:rate=30:duration=3", "-c:v", "libx264", "-qp", "0", "-pix_fmt",
                        "yuv420p", film)
        pictures = []
        for refused in ({}, {"FRAMEWIRE_STAND_IN_NO_IMPORT": "1"}):
            environment = self.with_gpu()
            sends = self.send_on(film, "--loop", *CUDA, environment=environment | refused)
            picture = self.file("picture.png")
            views = self.view(sends.address, "--frames", "10", "--screenshot", picture, *CUDA, environment=environment)
            self.ends(views)
            sends.interrupt()
            self.ends(sends)
            shown = self.stats(views)
            self.assertEqual((shown["memory"], shown["frames_received"]), ("cuda", 10))
            self.assertEqual(shown["upload"] == "GPU memory", not refused)
            self.assertEqual(len(re.findall("warning: .*frames are copied to host memory to be drawn, because .* does "
                                            "not import the GPU's memory", views.text)), 1 if refused else 0)
            pictures.append(picture.read_bytes())
        self.assertEqual(*pictures)

    def test_the_memory_of_another_gpu_of_this_machine_comes_as_copies(self):
        sends = self.send_on("gl:waves", "--size", "640x360", *CUDA, environment=self.with_gpu())
        views = self.view(sends.address, "--frames", "30", *CUDA, environment=self.with_gpu("cd" * 16))
        self.ends(views)
        self.assertEqual(self.stats(views)["memory"], "host")
        self.assertIn("warning: --memory is cuda, and the frames come in host memory", views.text)

    def test_the_viewer_says_where_frames_come_in_host_memory(self):
        warning = "warning: --memory is cuda, and the frames come in host memory"
        for options, sender in ((("--transport", "tcp"), CUDA), ((), ())):
            _, _, views, shown = self.stream("pattern", "--size", "320x180", *options, sender=sender)
            self.assertIn(warning, views.text)
            self.assertEqual(shown["memory"], "host")


class Mapping(GpuMemory):
    """How a viewer maps the sender's memory."""

    def test_for_writing_where_the_driver_refuses_to_do_so_for_reading_only(self):
        note = "maps the sender's memory for writing, too, because .* CUDA_ERROR_NOT_SUPPORTED"
        for refused in ({}, {"FRAMEWIRE_STAND_IN_NO_READ_ONLY": "1"}):
            environment = self.with_gpu() | refused
            _, _, views, shown = self.stream("pattern:stamped", "--size", "640x360", environment=environment)
            self.assertEqual(shown["memory"], "cuda")
            self.assertEqual(len(re.findall(note, views.text)), 1 if refused else 0, views.text)

    def test_where_the_driver_refuses_it_the_viewer_gets_copies(self):
        sends = self.send_on("pattern:stamped", "--size", "640x360", *CUDA, environment=self.with_gpu())
        views = self.view(sends.address, "--frames", "30", *CUDA,
                          environment=self.with_gpu() | {"FRAMEWIRE_STAND_IN_NO_SHARING": "1"})
        self.ends(views)
        self.assertEqual(self.stats(views)["memory"], "host")
        self.assertEqual(len(re.findall("warning: --memory is cuda, and the frames come in host memory: the sender's "
                                        "memory cannot be mapped on the GPU .*CUDA_ERROR_NOT_SUPPORTED",
                                        views.text)), 1, views.text)
        sends.wait_line("memory=cuda>host")


class LostGpu(GpuMemory):
    def with_lost_gpu(self, copies: int = 20) -> dict:
        """Of a program whose GPU is lost after so many copies."""
        return self.with_gpu() | {"FRAMEWIRE_STAND_IN_LOST_AFTER": str(copies)}

    def test_a_sender_ends_with_a_message_and_its_viewer_is_told(self):
        for source, viewer in (("pattern:stamped", CUDA), ("pattern:bars", CUDA), ("gl:waves", ())):
            for delivery in ("latest", "every"):
                sends = self.send_on(source, "--size", "640x360", "--delivery", delivery, *CUDA,
                                     environment=self.with_lost_gpu())
                views = self.view(sends.address, *viewer, environment=self.with_gpu())
                self.ends(sends, FAILED)
                self.one_message(sends, LOST)
                self.ends(views)

    def test_a_viewer_ends_with_a_message_and_its_sender_goes_on(self):
        environment = self.with_gpu()
        sends = self.send_on("pattern:stamped", "--size", "640x360", *CUDA, environment=environment)
        views = self.view(sends.address, *CUDA, environment=self.with_lost_gpu())
        self.ends(views, FAILED)
        self.one_message(views, LOST)
        other = self.view(sends.address, "--frames", "30", *CUDA, environment=environment)
        self.ends(other)
        sends.interrupt()
        self.ends(sends)
        self.assertEqual(len(self.stats(sends)["sessions"]), 2)

    def test_one_copy_that_fails_costs_its_frame_only(self):
        sends = self.send_on("pattern:stamped", "--size", "640x360", *CUDA,
                             environment=self.with_gpu() | {"FRAMEWIRE_STAND_IN_FAILED_COPY": "10"})
        views = self.view(sends.address, "--frames", "60", *CUDA, environment=self.with_gpu())
        self.ends(views)
        sends.interrupt()
        self.ends(sends)
        self.checked_stats(sends, views)
        self.assertEqual(self.stats(sends)["frames_unfilled"], 1)
        self.one_message(sends, "warning: .*a frame was skipped or broken off, because the device of .* failed")


class HostMemoryCopiedByTheGpu(GpuMemory):
    """OpenGL without pinned memory, as NVIDIA's: the GPU moves frames between host memory and OpenGL."""

    def with_gpu(self, uuid=IMPORTING) -> dict:
        return super().with_gpu(uuid) | {"MESA_EXTENSION_OVERRIDE": "-GL_AMD_pinned_memory"}

    def stream_until_copied(self, *arguments, frames: tuple[int, ...], **options):
        """As stream(), of so many frames that the last ones were uploaded by the GPU's copies.

        The viewer begins with another way, until a thread of its own has prepared the memory.
        """
        def stream(count: int):
            ended = self.stream(*arguments, frames=count, **options)
            return ended if ended[3]["upload"] == "GPU copies" else None
        return harness.first_enough(stream, *frames)

    def test_both_ends_take_the_gpus_copies_by_themselves(self):
        for transport in ("local", "tcp"):
            for pixel_format in ("rgba", "nv12"):
                sends, sent, views, shown = self.stream_until_copied(
                    "gl:waves", "--size", "1280x720", "--pix-fmt", pixel_format, "--transport", transport, sender=(),
                    viewer=(), frames=(60, 120, 240))
                self.assertIn("readback by GPU copies", sends.text)
                self.assertEqual((sent["memory"], shown["memory"]), ("host", "host"))
                self.assertNotIn("warning", sends.text + views.text)

    def test_the_pictures_are_the_same(self):
        scene = self.file("moving.frag")
        scene.write_text("void mainImage(out vec4 c, in vec2 p)"
                         "{ c = vec4(fract(p / iResolution.xy + float(iFrame) / 7.0), 0.25, 1); }")
        arguments = (f"gl:{scene}", "--size", "320x180", "--delivery", "every", "--no-pace")
        for option, saved in (("--output", self.file("frames.raw")), ("--screenshot", self.file("picture.png"))):
            sends, _, _, shown = self.stream_until_copied(*arguments, sender=(), viewer=(option, saved),
                                                          frames=(200, 1000))
            self.assertIn("readback by GPU copies", sends.text)
            by_copies = saved.read_bytes()
            sends, _, _, shown = self.stream(*arguments, sender=(), viewer=(option, saved), uuid="ab" * 16,
                                             frames=shown["frames_received"])
            self.assertIn("readback by persistent buffers", sends.text)
            self.assertEqual(shown["upload"], "client pointer")
            self.assertTrue(saved.read_bytes() == by_copies, option)

    def test_a_viewer_in_gpu_memory_uploads_host_memory_so(self):
        for options in (("--transport", "tcp"), ()):
            self.stream_until_copied("pattern:stamped", "--size", "640x360", *options, sender=(), frames=(200, 600),
                                     environment=GpuMemory.with_gpu(self))

    def test_a_gpu_that_fails_costs_no_frame(self):
        environment = self.with_gpu() | {"FRAMEWIRE_STAND_IN_NO_IMPORT": "1"}
        sends = self.send_on("gl:waves", "--size", "640x360", environment=environment)
        views = self.view(sends.address, "--frames", "30", environment=environment)
        self.ends(views)
        sends.interrupt()
        self.ends(sends)
        self.assertIn("readback by persistent buffers", sends.text)
        self.assertEqual(self.stats(views)["upload"], "client pointer")
        self.checked_stats(sends, views)

    def test_ctrl_c_at_any_moment(self):
        environment = self.with_gpu()
        sends = self.send_on("gl:waves", "--size", "1280x720", environment=environment)
        for line in ("waiting for|transport=", "memory=host"):
            views = self.view(sends.address, environment=environment)
            views.wait_line(line)
            views.interrupt()
            self.ends(views)


class Bench(GpuMemory):
    def rows(self, *options) -> list[dict]:
        result = self.file("rows.json")
        with result.open("wb") as out:
            program = self.start(BIN / "framewire-bench", "--json", "--count", "200", "--message-bytes", "64,1M",
                                 *options, environment=self.with_gpu(), stdout=out)
            self.ends(program)
        return json.loads(result.read_text())["results"]

    def test_rows_of_links_with_gpu_memory(self):
        for options in ((), ("--touch",), ("--reverse",), ("--reverse", "--touch")):
            rows = self.rows("--transport", "local", *CUDA, *options)
            self.assertEqual([row["memory"] for row in rows], ["cuda"] * 4, options)
            self.assertEqual([row["count"] for row in rows], [200] * 4)

    def test_a_link_that_carries_host_memory_says_so(self):
        self.assertEqual({row["memory"] for row in self.rows("--transport", "tcp", *CUDA)}, {"host"})


class Failures(GpuMemory):
    @unittest.skipIf(harness.has_cuda_driver(), "this machine has a driver")
    def test_without_a_driver(self):
        for program in (self.send("pattern", *CUDA), self.view("127.0.0.1:9", "--headless", *CUDA)):
            self.ends(program, FAILED)
            self.one_message(program, "--memory cuda: this machine has no libcuda.so.1",
                             "needs NVIDIA's driver 465 or newer")

    def test_a_gpu_that_is_not_there(self):
        environment = self.with_gpu()
        sends = self.send("pattern", "--memory", "cuda:GPU-0123", environment=environment)
        self.ends(sends, FAILED)
        self.one_message(sends, "--memory cuda: no GPU is 'GPU-0123'",
                         "CUDA has Stand-in 0 \\(GPU-6d657361-")
        _, sent, _, _ = self.stream("pattern", "--size", "320x180", sender=("--memory", "cuda:0000:3B:00.0"))
        self.assertEqual(sent["memory"], "cuda")

    def test_words_that_name_no_memory(self):
        for memory in ("cuda:", "gpu", "CUDA", "cudax"):
            sends = self.send("pattern", "--memory", memory)
            self.ends(sends, USAGE)
            self.one_message(sends, f"--memory is '{memory}'; it takes auto, host, cuda or cuda:GPU")
        bytes_sender = self.run_to_end(BIN / "rdsend", "--memory", "cuda", "127.0.0.1:9", "/dev/null")
        self.ends(bytes_sender, USAGE)
        self.one_message(bytes_sender, "--memory is 'cuda': this program keeps its data in host memory only")

    def test_a_gpu_that_is_full(self):
        sends = self.send("pattern", "--size", "7680x4320", "--viewers", "8", "--listen", "127.0.0.1:0", *CUDA,
                          environment=self.with_gpu())
        self.ends(sends, FAILED)
        self.one_message(sends, "not enough memory on the GPU Stand-in 0: 3.7 GB are needed, and 1.1 GB of 1.1 GB")

    def test_a_sender_that_is_killed_and_comes_back(self):
        """The viewer's mapping of its memory outlives it."""
        environment = self.with_gpu()
        sends = self.send_on("pattern:stamped", "--size", "640x360", *CUDA, environment=environment)
        views = self.view(sends.address, *CUDA, environment=environment)
        views.wait_line("memory=cuda")
        sends.kill()
        views.wait_line(r"nothing listens|was cut|lost")
        again = self.send_on("pattern:stamped", "--size", "640x360", *CUDA, "--frames", "200",
                             listen=sends.address, environment=environment)
        self.ends(views)
        self.ends(again)
        self.assertEqual(self.stats(views)["frames_torn"], 0)

    def test_a_viewer_that_is_killed_disturbs_nobody(self):
        environment = self.with_gpu()
        sends = self.send_on("pattern:stamped", "--size", "640x360", *CUDA, "--frames", "200",
                             environment=environment)
        viewers = [self.view(sends.address, *CUDA, environment=environment) for _ in range(2)]
        for views in viewers:
            views.wait_line("memory=cuda")
        viewers[0].kill()
        self.ends(viewers[1])
        self.ends(sends)
        self.assertEqual(self.stats(viewers[1])["frames_torn"], 0)

    def test_ctrl_c(self):
        environment = self.with_gpu()
        sends = self.send_on("gl:waves", "--size", "640x360", *CUDA, environment=environment)
        views = self.view(sends.address, *CUDA, environment=environment)
        views.wait_line("memory=cuda")
        views.interrupt()
        self.ends(views)
        sends.interrupt()
        self.ends(sends)


if __name__ == "__main__":
    harness.main()
