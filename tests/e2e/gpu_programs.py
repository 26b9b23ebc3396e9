"""Programs with --memory cuda on a machine without a GPU: they load a libcuda.so.1 of the tests (tests/cuda), and
OpenGL's llvmpipe imports its memory as NVIDIA's driver does."""
import os

import harness
from harness import BIN

STAND_IN = BIN.parent / "tests" / "cuda_stand_in"
IMPORTING = "6d65736132322e332e36000000000000"  # llvmpipe's GL_DEVICE_UUID_EXT in Mesa 22.3.6
CUDA = ("--memory", "cuda")
LOST = "the GPU Stand-in 0 is lost: uncorrectable ECC error encountered .*; see dmesg for an Xid"


class GpuMemory(harness.EndToEnd):
    def with_gpu(self, uuid=IMPORTING) -> dict:
        """An environment with a GPU of that identity. OpenGL draws with the one of llvmpipe's."""
        paths = [str(STAND_IN), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return self.environment(LD_LIBRARY_PATH=":".join(paths), FRAMEWIRE_STAND_IN_UUID=uuid,
                                LIBGL_ALWAYS_SOFTWARE="1")

    def stream(self, source, *options, sender=CUDA, viewer=CUDA, uuid=IMPORTING, frames=30, environment=None):
        """One viewer of `source`, which ends after `frames`; how both ended."""
        environment = environment or self.with_gpu(uuid)
        sends = self.send_on(source, *sender, *options, environment=environment)
        views = self.view(sends.address, "--frames", str(frames), *viewer, environment=environment)
        self.ends(views)
        sends.interrupt()
        self.ends(sends)
        sent, shown = self.checked_stats(sends, views)
        self.assertEqual(shown["frames_received"], frames)
        return sends, sent, views, shown

    def moving_scene(self):
        """It moves by the frame's number, which it also draws."""
        scene = self.file("moving.frag")
        scene.write_text("void mainImage(out vec4 c, in vec2 p)"
                         "{ c = vec4(fract(p / iResolution.xy + float(iFrame) / 7.0), 0.25, 1); }")
        return scene
