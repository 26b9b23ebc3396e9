"""The real programs with --memory cuda over RDMA. NVIDIA's driver is that of tests/cuda. OpenGL is llvmpipe, which
imports its memory. The device is real: it reads and writes that memory, which the tests register as the kernel would.
"""
import os

import lab
from lab import harness
from harness import BIN
from one_host import STREAM, OneHostTest

GPU = BIN.parent / "tests" / "cuda_stand_in"
VERBS = BIN.parent / "tests" / "libpreloaded_verbs.so"
IMPORTING = "6d65736132322e332e36000000000000"  # llvmpipe's GL_DEVICE_UUID_EXT in Mesa 22.3.6
CUDA = ("--memory", "cuda")


class OnGpus(OneHostTest):
    def with_gpu(self) -> dict:
        paths = [str(GPU), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return self.environment(LD_LIBRARY_PATH=":".join(paths), LD_PRELOAD=str(VERBS),
                                FRAMEWIRE_STAND_IN_UUID=IMPORTING)

    def stream(self, *source, sender=CUDA, viewer=CUDA, frames=10):
        """One viewer, which ends after some frames. What both ends report, and what they say."""
        sends = self.rdma_sender(*source, *sender, environment=self.with_gpu())
        views = self.rdma_viewer(sends, "--frames", str(frames), *viewer, environment=self.with_gpu())
        self.ends(views)
        sends.interrupt()
        self.ends(sends)
        sent, shown = self.stats(sends), self.stats(views)
        self.assertEqual((shown["transport"], shown["frames_received"]), ("rdma", frames))
        return sent, shown, sends.text, views.text

    def test_a_pattern_arrives_whole_in_the_other_gpus_memory(self):
        sent, shown, sender, viewer = self.stream(*STREAM)
        self.assertEqual((shown["frames_checked"], shown["frames_torn"]), (10, 0))
        self.assertEqual((sent["memory"], shown["memory"]), ("cuda", "cuda"))
        (session,) = sent["sessions"]
        for report in (session, shown):
            self.assertEqual(report["memory_access"], "dma-buf", report)
        for text in (sender, viewer):
            self.assertRegex(text, r"transport=rdma memory=cuda .*access=dma-buf ")

    def test_a_scene_is_the_same_as_in_host_memory(self):
        """It moves by the frame's number."""
        scene = self.file("moving.frag")
        scene.write_text("void mainImage(out vec4 c, in vec2 p)"
                         "{ c = vec4(fract(p / iResolution.xy + float(iFrame) / 7.0), 0.25, 1); }")
        frames, picture = self.file("frames.raw"), self.file("picture.png")
        save_frames, save_picture = ("--output", frames), ("--screenshot", picture)

        def seen(memory, *runs) -> tuple[bytes, bytes]:
            for saved in runs:
                self.stream(f"gl:{scene}", "--size", "96x54", "--delivery", "every", "--no-pace", sender=memory,
                            viewer=(*memory, *saved), frames=4)
            return frames.read_bytes(), picture.read_bytes()

        in_host_memory = seen((), (*save_frames, *save_picture))
        # Apart, as frames that are recorded come to host memory and are drawn from there.
        self.assertEqual(seen(CUDA, save_frames, save_picture), in_host_memory)

    def test_one_end_may_have_host_memory(self):
        for sender, viewer, wanted in ((CUDA, (), "host"), ((), CUDA, "cuda")):
            _, shown, _, text = self.stream(*STREAM, sender=sender, viewer=viewer)
            self.assertEqual((shown["memory"], shown["frames_torn"], shown["frames_checked"]), (wanted, 0, 10), text)


if __name__ == "__main__":
    harness.main()
