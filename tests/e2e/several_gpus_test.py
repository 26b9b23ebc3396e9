"""--memory cuda on machines with several GPUs, of which tests/cuda has as many as it is asked for: which one is taken,
and frames that one GPU reads from another."""
import os
import pathlib
import re
import subprocess
import unittest

import harness
import windows
from gpu_programs import CUDA, IMPORTING, LOST, GpuMemory
from harness import BIN, FAILED

MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
CAN_MOUNT = subprocess.run([*MOUNTS, "mount", "--bind", BIN, "/sys"], capture_output=True,
                           check=False).returncode == 0


class TwoGpus(GpuMemory):
    """A viewer on the first GPU, which is OpenGL's, and a sender on the second one."""
    ON_FIRST, ON_SECOND = ("--memory", "cuda:0000:3b:00.0"), ("--memory", "cuda:0000:3c:00.0")
    NOTE = (r"reads frames of the GPU Stand-in 1 \(0000:3c:00\.0\) on the GPU Stand-in 0 \(0000:3b:00\.0\), by peer "
            "access")

    def with_two_gpus(self, **settings) -> dict:
        return self.with_gpu() | {"FRAMEWIRE_STAND_IN_DEVICES": "2"} | settings

    def with_peers(self, **settings) -> dict:
        return self.with_two_gpus(FRAMEWIRE_STAND_IN_PEER_ACCESS="1", **settings)

    def test_frames_come_by_peer_access_and_are_drawn_from_copies_of_the_gpu(self):
        sends, sent, views, shown = self.stream("gl:waves", "--size", "640x360", sender=self.ON_SECOND,
                                                viewer=self.ON_FIRST, environment=self.with_peers(), frames=60)
        self.assertEqual((sent["memory"], shown["memory"], shown["upload"]), ("cuda", "cuda", "GPU memory"))
        self.assertEqual((sent["sessions"][0]["memory_access"], shown["memory_access"]), (None, "peer-access"))
        self.assertRegex(views.text, "transport=local memory=cuda .* access=peer-access")
        self.assertEqual(len(re.findall(self.NOTE, views.text)), 1, views.text)
        self.assertNotIn("warning", views.text)

    def test_who_reads_bytes_gets_whole_frames_in_host_memory(self):
        for pixel_format in ("rgba", "nv12"):
            _, sent, _, shown = self.stream("pattern:stamped", "--size", "640x360", "--pix-fmt", pixel_format,
                                            sender=self.ON_SECOND, viewer=self.ON_FIRST, environment=self.with_peers())
            self.assertEqual((sent["memory"], shown["memory"]), ("cuda", "cuda"))
            self.assertEqual(shown["frames_checked"], shown["frames_received"])

    def test_the_pictures_are_those_of_host_memory(self):
        scene = self.moving_scene()
        for pixel_format in ("rgba", "nv12", "p010le"):
            seen = []
            for sender, viewer in (((), ()), (self.ON_SECOND, self.ON_FIRST)):
                frames, picture = self.file("frames.raw"), self.file("picture.png")
                for saved in (("--output", frames), ("--screenshot", picture)):
                    self.stream(f"gl:{scene}", "--size", "320x180", "--pix-fmt", pixel_format, "--delivery", "every",
                                "--no-pace", sender=sender, viewer=(*viewer, *saved), frames=40,
                                environment=self.with_peers())
                seen.append((frames.read_bytes(), picture.read_bytes()))
            self.assertTrue(seen[0] == seen[1], pixel_format)

    def test_without_peer_access_they_come_as_copies(self):
        sends = self.send_on("gl:waves", "--size", "640x360", *self.ON_SECOND, environment=self.with_two_gpus())
        views = self.view(sends.address, "--frames", "30", *self.ON_FIRST, environment=self.with_two_gpus())
        self.ends(views)
        shown = self.stats(views)
        self.assertEqual((shown["memory"], shown["memory_access"]), ("host", None))
        self.assertIn("warning: --memory is cuda, and the frames come in host memory: the sender has them there or on "
                      "a GPU that this one does not read", views.text)
        sends.wait_line("memory=cuda>host")

    def test_where_the_driver_refuses_it_the_viewer_gets_copies(self):
        sends = self.send_on("gl:waves", "--size", "640x360", *self.ON_SECOND, environment=self.with_peers())
        views = self.view(sends.address, "--frames", "30", *self.ON_FIRST,
                          environment=self.with_peers(FRAMEWIRE_STAND_IN_NO_SHARING="1"))
        self.ends(views)
        shown = self.stats(views)
        self.assertEqual((shown["memory"], shown["memory_access"]), ("host", None))
        self.assertEqual(len(re.findall("warning: --memory is cuda, and the frames come in host memory: the sender's "
                                        "memory cannot be mapped on the GPU Stand-in 0", views.text)), 1, views.text)

    def test_a_viewer_whose_gpu_is_lost_ends_with_a_message(self):
        sends = self.send_on("gl:waves", "--size", "640x360", *self.ON_SECOND, environment=self.with_peers())
        views = self.view(sends.address, *self.ON_FIRST,
                          environment=self.with_peers(FRAMEWIRE_STAND_IN_LOST_AFTER="20"))
        self.ends(views, FAILED)
        self.one_message(views, LOST)
        sends.interrupt()
        self.ends(sends)


@unittest.skipUnless(CAN_MOUNT, "this machine lets nobody mount files over /sys: neither root nor unshare -rm")
class SeveralGpus(GpuMemory):
    """Two, in programs that see made-up files in /sys. The second one shares a switch with an RDMA card."""
    TAKEN = "frames lie in the memory of the GPU Stand-in "

    def setUp(self):
        super().setUp()
        system = self.file("sys")
        self.add_device(system, "pci0000:3a/0000:3a:00.0/0000:3b:00.0")
        self.add_device(system, "pci0000:80/0000:80:00.0/0000:81:00.0/0000:82:00.0/0000:3c:00.0")
        card = self.add_device(system, "pci0000:80/0000:80:00.0/0000:81:00.0/0000:82:01.0/0000:83:00.0")
        rdma = system / "class" / "infiniband" / "mlx5_0"
        port = rdma / "ports" / "1"
        port.mkdir(parents=True)
        (port / "state").write_text("4: ACTIVE\n")
        (rdma / "device").symlink_to(card)
        self.prefix = [*MOUNTS, "sh", "-c", f'mount --bind "{system}" /sys && exec "$@"', "sh"]

    @staticmethod
    def add_device(system: pathlib.Path, below_devices: str) -> str:
        folder = system / "devices" / below_devices
        folder.mkdir(parents=True)
        (folder / "uevent").write_text(f"PCI_SLOT_NAME={folder.name}\n")
        link = system / "bus" / "pci" / "devices" / folder.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"/sys/devices/{below_devices}")
        return f"/sys/devices/{below_devices}"

    def with_gpu(self, uuid=IMPORTING) -> dict:
        return super().with_gpu(uuid) | {"FRAMEWIRE_STAND_IN_DEVICES": "2"}

    def pair(self, *options, memory=CUDA):
        """A sender and its viewer, at their end."""
        how = {"environment": self.with_gpu(), "prefix": self.prefix}
        sends = self.send_on("pattern:stamped", "--size", "320x180", *memory, *options, **how)
        views = self.view(sends.address, "--frames", "20", *memory, *options, **how)
        self.ends(views)
        sends.interrupt()
        self.ends(sends)
        return sends, views

    def test_both_ends_take_the_one_that_is_nearest_to_the_rdma_card(self):
        """If only one did, frames would come in host memory."""
        sends, views = self.pair()
        self.assertEqual((self.stats(sends)["memory"], self.stats(views)["memory"]), ("cuda", "cuda"))
        for program in (sends, views):
            self.assertRegex(program.text,
                             f"{self.TAKEN}1 at 0000:3c:00.0, the nearest to mlx5_0 \\(by one PCIe switch\\)")

    def test_the_benchs_client_says_it_once(self):
        bench = self.start(*self.prefix, BIN / "framewire-bench", "--count", "20",
                           "--message-bytes", "64", *CUDA, environment=self.with_gpu())
        self.ends(bench)
        self.assertEqual(bench.text.count(f"{self.TAKEN}1 at 0000:3c:00.0"), 1, bench.text)

    def test_the_distance_matters_only_where_rdma_may_be_used(self):
        for program in self.pair("--transport", "local"):
            self.assertRegex(program.text, f"{self.TAKEN}0 at 0000:3b:00.0, CUDA's first one")

    def test_of_one_that_is_named_nothing_is_said(self):
        for program in self.pair(memory=("--memory", "cuda:0000:3b:00.0")):
            self.assertNotIn(self.TAKEN, program.text)


class InAWindow(GpuMemory, windows.OnADisplay):
    def test_of_several_gpus_the_one_that_draws_is_taken(self):
        """CUDA's second one. If the first one is named, its memory is not the sender's: frames come in host memory."""
        before_importing = IMPORTING[:-2] + "ff"
        sends = self.send_on("gl:waves", "--size", "320x180", *CUDA, environment=self.with_gpu())
        display = {name: self.with_display()[name] for name in ("DISPLAY", "ASAN_OPTIONS")}
        two = self.with_gpu(before_importing) | display | {"FRAMEWIRE_STAND_IN_DEVICES": "2"}
        seen = []
        for memory in ("cuda", "cuda:0000:3b:00.0"):
            views = self.view(sends.address, "--frames", "20", "--memory", memory, headless=False, environment=two)
            self.ends(views)
            shown = self.stats(views)
            seen.append((shown["memory"], shown["upload"] == "GPU memory", "which OpenGL draws with" in views.text))
        self.assertEqual(seen, [("cuda", True, True), ("host", False, False)])


if __name__ == "__main__":
    harness.main()
