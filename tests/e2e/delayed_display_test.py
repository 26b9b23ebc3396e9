"""The relay of scripts/latency --delay: what programs send to the X server arrives late, and whole."""
import csv
import os
import pathlib
import socket
import subprocess
import sys
import time

import harness
from windows import OnADisplay

RELAY = harness.REPOSITORY / "scripts" / "latency.d" / "delayed_display.py"
SOCKETS = pathlib.Path("/tmp/.X11-unix")
DELAY_MS = 40


class DelayedDisplay(OnADisplay):
    def start_relay(self, display: str) -> str:
        relay = self.start(sys.executable, RELAY, display, DELAY_MS, stdout=subprocess.PIPE)
        self.addCleanup(relay.process.stdout.close)
        self.addCleanup(relay.interrupt)
        return relay.process.stdout.readline().decode().strip()

    def start_fake_server(self) -> tuple[socket.socket, str]:
        """A socket in the place of an X server's."""
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        for number in range(200, 300):
            path = SOCKETS / f"X{number}"
            if not path.exists():
                listener.bind(str(path))
                self.addCleanup(path.unlink)
                listener.listen()
                return listener, f":{number}"
        raise AssertionError("no free display")

    def test_bytes_and_descriptors_go_both_ways_and_one_of_them_is_late(self):
        listener, name = self.start_fake_server()
        relayed = self.start_relay(name)
        with socket.socket(socket.AF_UNIX) as program:
            program.connect(str(SOCKETS / ("X" + relayed.lstrip(":"))))
            server, _ = listener.accept()
            with server, open(RELAY, "rb") as here:
                begun_s = time.monotonic()
                socket.send_fds(program, [b"a request"], [here.fileno()])
                data, descriptors, _, _ = socket.recv_fds(server, 100, 4)
                self.assertGreaterEqual(time.monotonic() - begun_s, DELAY_MS / 1000)
                self.assertEqual((data, len(descriptors)), (b"a request", 1))
                with os.fdopen(descriptors[0], "rb") as there:
                    self.assertTrue(os.path.sameopenfile(there.fileno(), here.fileno()))
                socket.send_fds(server, [b"an answer"], [here.fileno()])
                data, descriptors, _, _ = socket.recv_fds(program, 100, 4)
                self.assertEqual((data, len(descriptors)), (b"an answer", 1))
                os.close(descriptors[0])
                server.close()
                self.assertEqual(program.recv(1), b"", "the end comes through, too")

    def test_a_window_shows_frames_so_much_later_and_says_so(self):
        sender = self.send_on("pattern", "--size", "320x180", "--fps", "10")
        times, server = self.file("times.csv"), self.display
        self.display = self.start_relay(server)
        viewer = self.open_window(sender.address, "--size", "640x360", "--frame-times", times)
        self.display = server
        harness.wait_until(self.has_bars, "the bars on the screen")
        viewer.wait_line(r"shown [2-9]\d")
        viewer.interrupt()
        self.ends(viewer)
        with times.open(newline="") as lines:
            presented_ms = [(int(line["shown_ns"]) - int(line["drawn_ns"])) / 1e6 for line in csv.DictReader(lines)]
        self.assertGreater(len(presented_ms), 10)
        self.assertGreaterEqual(min(presented_ms), DELAY_MS)


if __name__ == "__main__":
    harness.main()
