"""Common code of the tests of the Python package: streams from this process to itself, and other processes."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import framewire

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("FRAMEWIRE_BIN", REPOSITORY / "build" / "release" / "bin"))
TRANSPORT = os.environ.get("FRAMEWIRE_TEST_TRANSPORT", "local")
DEADLINE_S = 30  # a wait that takes longer counts as a hang
# A shell ignores SIGINT for background jobs, and the programs that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Streams(unittest.TestCase):
    """A test with a home of its own, in which there is no key."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="framewire-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        changed = {"HOME": folder.name, "XDG_CONFIG_HOME": folder.name}
        before = {name: os.environ.get(name) for name in changed}
        os.environ.update(changed)
        self.addCleanup(lambda: [os.environ.pop(name) if value is None else os.environ.update({name: value})
                                 for name, value in before.items()])

    def send(self, size, format="rgba", **options):
        """A stream that listens on a port of its own choice."""
        stream = framewire.send("test", size, format, listen="127.0.0.1:0", **options)
        self.addCleanup(stream.close)
        return stream

    def receive(self, stream, **options):
        receiver = framewire.receive(f"127.0.0.1:{stream.sender.port}/test", transport=TRANSPORT, **options)
        self.addCleanup(receiver.close)
        return receiver

    def pair(self, size, format="rgba", **options):
        """A stream and its receiver, which gets every frame."""
        stream = self.send(size, format, delivery="every", **options)
        return stream, self.receive(stream, delivery="every")

    def one_frame(self, size, format="rgba", fill=None):
        """A stream, its receiver, and a frame that `fill` has filled."""
        stream, receiver = self.pair(size, format)
        slot = stream.claim(timeout=DEADLINE_S)
        if fill is not None:
            fill(slot)
        self.assertTrue(slot.publish())
        return stream, receiver, receiver.acquire(timeout=DEADLINE_S)

    def wait_until(self, condition, what, seconds=DEADLINE_S):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"waited {seconds} s for {what}")
            time.sleep(0.01)

    def python(self, code, *arguments, **options):
        """Starts a Python that runs this code, with its output in a pipe."""
        process = subprocess.Popen([sys.executable, "-u", "-c", code, *map(str, arguments)], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True, **options)
        self.addCleanup(self._end, process)
        return process

    def _end(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()

    def assert_ends_well(self, process):
        output, _ = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, 0, output)
        return output
