"""examples/python: each runs, without a display."""
import os
import re
import struct
import subprocess
import threading
import unittest

import framewire
import numpy

from streams import BIN, DEADLINE_S, REPOSITORY, Streams

EXAMPLES = REPOSITORY / "examples" / "python"


def png_size(path):
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n"), path
    return struct.unpack(">II", data[16:24])


class Examples(Streams):
    def example(self, name, *arguments):
        code = "import runpy, sys\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
        environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
        return self.python(code, EXAMPLES / name, *arguments, env=environment, cwd=self.folder)

    def publishing(self, format="rgba", size=(64, 48), value=10):
        """The address of a stream that is published until the test ends."""
        stream = self.send(size, format)
        stop = threading.Event()

        def publish():
            while not stop.is_set():
                if (slot := stream.claim(timeout=0.02)) is not None:
                    for plane in slot.planes:
                        plane.numpy()[:] = value
                    slot.publish()
                    stop.wait(0.002)
        thread = threading.Thread(target=publish)
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        thread.start()
        return f"127.0.0.1:{stream.sender.port}/test"

    def test_opencv_writes_a_picture(self):
        for format in ("rgba", "bgr24", "nv12", "rgba+grayf32le", "gray8"):
            with self.subTest(format):
                png = self.folder / f"{format}.png"
                self.assert_ends_well(self.example("opencv_viewer.py", self.publishing(format), "--png", png))
                self.assertEqual(png_size(png), (64, 48))

    def assert_refuses(self, status, said, name, *arguments):
        process = self.example(name, *arguments)
        output, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, status, output)
        self.assertIn(said, output)

    def test_opencv_says_that_it_cannot_write(self):
        png = self.folder / "none" / "picture.png"
        self.assert_refuses(1, f"cannot write {png}", "opencv_viewer.py", self.publishing(), "--png", png)

    def test_torch_inverts_a_stream(self):
        process = self.example("torch_filter.py", self.publishing(), "--listen", "127.0.0.1:0")
        line = process.stdout.readline()
        port = int(re.search(r"port (\d+)", line).group(1))
        with framewire.receive(f"127.0.0.1:{port}/inverted") as receiver:
            frame = receiver.acquire(timeout=DEADLINE_S)
            numpy.testing.assert_array_equal(frame.numpy(), numpy.full((48, 64, 4), (245, 245, 245, 10)))

    def pattern(self, size, port=0):
        """framewire-send with a pattern of this size, and its port."""
        sender = subprocess.Popen([BIN / "framewire-send", "pattern", "--size", size, "--pix-fmt", "rgba", "--listen",
                                   f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(sender.stderr.close)
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        line = next(line for line in sender.stderr if line.startswith("listening on"))
        return sender, int(re.search(r":(\d+)", line).group(1))

    def test_torch_goes_on_with_another_size_when_the_sender_is_started_again(self):
        sender, port = self.pattern("64x48")
        process = self.example("torch_filter.py", f"127.0.0.1:{port}", "--listen", "127.0.0.1:0")
        filtered = int(re.search(r"port (\d+)", process.stdout.readline()).group(1))
        with framewire.receive(f"127.0.0.1:{filtered}/inverted") as receiver:
            self.assertEqual(receiver.acquire(timeout=DEADLINE_S).numpy().shape, (48, 64, 4))
            sender.kill()
            sender.wait()
            self.pattern("32x16", port)
            shape = None
            while shape != (16, 32, 4):
                with receiver.acquire(timeout=DEADLINE_S) as frame:
                    shape = frame.numpy().shape

    def test_latencies_are_plotted(self):
        png = self.folder / "latency.png"
        self.assert_ends_well(self.example("latency_plot.py", self.publishing(), "--frames", 50, "--png", png))
        self.assertEqual(png_size(png), (640, 480))

    def test_latencies_of_no_frame_are_refused(self):
        for count in (0, -1):
            self.assert_refuses(2, f"--frames: it is {count}, and takes 1 or more", "latency_plot.py", "127.0.0.1:1",
                                f"--frames={count}")

    def test_none_is_forgotten(self):
        tested = {"opencv_viewer.py", "torch_filter.py", "latency_plot.py"}
        self.assertEqual({path.name for path in EXAMPLES.glob("*.py")}, tested)


if __name__ == "__main__":
    unittest.main(verbosity=2)
