"""Bad input: a file, a stream on stdin, a shader, a port or a display that cannot be used."""
import os
import socket
import subprocess
import unittest

import harness

SEND, VIEW = "framewire-send", "framewire-view"
NOWHERE = "127.0.0.1:1"
MOST_SLOTS = ("--slots", "64", "--viewers", "15")  # of the largest frames: more memory than a machine has

HEADER = b"YUV4MPEG2 W64 H36 F30:1 Ip A1:1 C420jpeg\n"

# Bytes on stdin of `framewire send -`, and text of the error message.
STANDARD_INPUTS = [
    (b"", ["nothing came on standard input"]),
    (b"hello, world, this is no video", ["not y4m", "hello", "--size", "--pix-fmt"]),
    (b"\x1b[2J\n\r\x00\x07\x7f and the rest of a random stream",
     [r"not y4m \(YUV4MPEG2\)", r"\\x1b", "--size", "--pix-fmt"]),
    (b"YUV4MPEG2", ["header"]),
    (b"YUV4MPEG2 W64\n", ["no height"]),
    (b"YUV4MPEG2 W0 H36 F30:1\n", ["width of '0'", "1 to 32768"]),
    (b"YUV4MPEG2 W-4 H36 F30:1\n", ["width of '-4'"]),
    (b"YUV4MPEG2 W99999999 H99999999 F30:1\n", ["99999999"]),
    (b"YUV4MPEG2 W4294967360 H36 F30:1\n", ["4294967360"]),
    (b"YUV4MPEG2 W64 H36 F30\n", ["frame rate of '30'", "30000:1001"]),
    (b"YUV4MPEG2 W64 H36 F30:1 C555\n", ["555"]),
    (b"YUV4MPEG2 W64 H36 " + b"X" * 5000, ["1024"]),
    (HEADER, ["no frame"]),
    (HEADER + b"FRAMEFRAME\n" + bytes(3456), ["FRAME", "frame 1"]),
    (HEADER + b"FRAME\n" + bytes(10), ["middle of frame 1", "10 of 3456"]),
]


class BadInput(harness.EndToEnd):
    def test_standard_input(self):
        for words, wanted in STANDARD_INPUTS:
            with self.subTest(words[:40]):
                self.file("stdin").write_bytes(words)
                with self.file("stdin").open("rb") as stdin:
                    self.one_message(self.send_to_its_end("-", stdin=stdin), *wanted)

    def test_an_absurd_size_is_refused_before_it_is_allocated(self):
        self.file("stdin").write_bytes(b"YUV4MPEG2 W32768 H32768 F30:1 C444\n")
        with self.file("stdin").open("rb") as stdin:
            sender = self.send_to_its_end("-", *MOST_SLOTS, stdin=stdin)
        self.one_message(sender, "slots", "3.1 TB are needed")

    def test_standard_streams_that_are_closed(self):
        """No other file may get descriptor 0, 1 or 2: otherwise a viewer would receive log lines as frames."""
        closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
        sender = self.send("pattern:stamped", "--size", "64x36", "--listen", "127.0.0.1:0", prefix=closed)
        harness.wait_until(lambda: sender.descriptors() > 6, "it to listen")
        self.assertEqual(self.standard_streams(sender), ["/dev/null"] * 3)
        sender.interrupt()
        self.ends(sender)

    @staticmethod
    def standard_streams(program) -> list[str]:
        return [os.readlink(f"/proc/{program.pid}/fd/{number}") for number in range(3)]

    def test_stdin_that_ends_within_a_frame_in_slices(self):
        """Slices of the third frame are at the viewers already. They drop it, and go on."""
        for transport in ("local", "tcp"):
            self.file("stdin").write_bytes(bytes(320 * 180 * 4) * 2 + bytes(100_000))
            with self.file("stdin").open("rb") as stdin:
                sender = self.send_on("-", "--size", "320x180", "--pix-fmt", "rgba", "--slices", "8", "--delivery",
                                      "every", "--no-pace", stdin=stdin)
                viewer = self.view(sender.address, "--transport", transport)
                self.ends(sender, harness.FAILED)
                self.ends(viewer)
            self.one_message(sender, "middle of frame 3 .100000 of 230400 bytes.; 2 frames were sent")
            sent, shown = self.checked_stats(sender, viewer)
            self.assertEqual((sent["frames_sent"], sent["frames_aborted"], sent["frames_lost"]), (2, 1, 0))
            self.assertEqual((shown["frames_received"], shown["frames_shown"]), (2, 2))

    def test_stdin_that_is_closed(self):
        sender = self.send("-", prefix=["sh", "-c", 'exec "$@" <&-', "sh"])
        self.ends(sender, harness.FAILED)
        self.one_message(sender, "standard input is closed")

    def test_a_port_in_use(self):
        sender = self.send_on("pattern", "--size", "64x36")
        second = self.send("pattern", "--size", "64x36", "--listen", sender.address)
        self.ends(second, harness.FAILED)
        self.one_message(second, f"port {sender.port}", "in use", "--listen")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            third = self.send("pattern", "--size", "64x36", "--listen", f"127.0.0.1:{port}")
            self.ends(third, harness.FAILED)
            self.one_message(third, f"port {port}", "in use", "--listen")
        viewer = self.view("--listen", sender.address)
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, f"port {sender.port}", "in use", "--listen")

    def test_not_enough_memory_for_the_slots(self):
        sender = self.send_to_its_end("pattern", "--size", "32768x32768", *MOST_SLOTS)
        self.one_message(sender, "not enough memory for 964 frame slots: 4.1 TB are needed",
                         "smaller frames .*fewer slots or fewer viewers")

    def test_shader_errors_with_their_lines(self):
        shader = self.file("mine.frag")
        shader.write_text("void mainImage(out vec4 colour, in vec2 place) {\n  colour = vec4(1.0);\n  color = 7;\n}\n")
        sender = self.send_to_its_end(f"gl:{shader.name}", "--size", "64x36")
        self.assertRegex(sender.text, r"mine\.frag")
        self.assertRegex(sender.text, r"\b3\b")
        self.assertRegex(sender.text, "color")
        shader.write_text("")
        empty = self.send_to_its_end(f"gl:{shader.name}", "--size", "64x36")
        self.assertRegex(empty.text, r"mine\.frag")

    def test_files_that_are_no_video(self):
        harness.require_tool("ffmpeg")
        self.file("noise.mkv").write_bytes(os.urandom(20_000))
        self.file("empty.mp4").write_bytes(b"")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "sine=duration=1",
                        str(self.file("sound.wav"))],
                       check=True)
        for name in ("noise.mkv", "empty.mp4", "sound.wav", "."):
            with self.subTest(name):
                program = self.run_to_end(harness.BIN / SEND, name)
                self.assertEqual(program.process.returncode, harness.FAILED, program.text)
                self.one_message(program, f"'{name}'")

    def test_a_codec_that_this_machine_does_not_decode(self):
        harness.require_tool("ffmpeg")
        film = self.file("film.avi")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=64x36",
                        "-frames:v", "3", "-c:v", "mpeg4", "-vtag", "XVID", str(film)], check=True)
        film.write_bytes(film.read_bytes().replace(b"XVID", b"QZQZ").replace(b"xvid", b"qzqz"))
        program = self.run_to_end(harness.BIN / SEND, film.name)
        self.assertEqual(program.process.returncode, harness.FAILED, program.text)
        self.one_message(program, "film.avi")

    def test_no_display(self):
        viewer = self.view("127.0.0.1:1", headless=False, environment=self.environment(DISPLAY=":31999"))
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "':31999'", "--headless")

    @unittest.skipIf(harness.IS_SANITIZED, "a sanitizer needs more than these limits")
    def test_limits_too_low_to_draw(self):
        """Drivers and font libraries report a wrong cause, or crash, when they reach a limit."""
        for limit, *wanted in (("--nofile=8", "8 files open at once", "needs 64", "ulimit -n"),
                               ("--nofile=5", "5 files", "ulimit -n"),
                               ("--as=400000000", "400.0 MB of address space", "ulimit -v")):
            programs = [self.view("127.0.0.1:1", prefix=["prlimit", limit]),
                        self.view("127.0.0.1:1", headless=False, prefix=["prlimit", limit])]
            if limit != "--nofile=5":  # with five files a sender fails before its scene
                programs.append(self.send("gl:", "--size", "64x36", "--listen", "127.0.0.1:0",
                                          prefix=["prlimit", limit]))
            for program in programs:
                with self.subTest(str(program)):
                    self.ends(program, harness.FAILED)
                    self.one_message(program, *wanted)

    @unittest.skipIf(harness.IS_SANITIZED, "a sanitizer needs more than these limits")
    def test_limits_of_memory_are_named(self):
        """Which allocation or thread is the first to fail depends on the libraries."""
        endings = []
        for megabytes in (15, 20, 25, 30, 35, 40):
            prefix = ["prlimit", f"--as={megabytes}000000"]
            for program, words in (("rdsend", [NOWHERE, __file__]), ("rdrecv", ["--from", NOWHERE, "/dev/null"])):
                start = subprocess.run([*prefix, harness.BIN / program, "--version"], capture_output=True, check=False)
                if start.returncode != 0:  # its libraries, or what they allocate before main(), have no room
                    continue
                started = self.start(*prefix, harness.BIN / program, *words, "--retry", "1s")
                self.assertIn(started.wait_end(), (harness.FAILED, harness.LOST), started.text)
                self.assertNotRegex(started.text, r"bad_alloc|(?m:: Resource temporarily unavailable$)")
                endings.append(started.lines[-1])
        self.assertRegex("\n".join(endings),
                         "cannot start a thread: Resource temporarily unavailable; raise 'ulimit -u'")

    @unittest.skipIf(harness.IS_SANITIZED, "a sanitizer needs more than these limits")
    def test_a_soft_limit_of_files_is_raised(self):
        viewer = self.view("127.0.0.1:1", "--retry", "1s", prefix=["prlimit", "--nofile=8:1024"])
        self.ends(viewer, harness.LOST)
        self.one_message(viewer, "no sender came before --retry was over|nothing listens")

    def test_statistics_that_cannot_be_written(self):
        for program in (self.start(harness.BIN / SEND, "pattern", "--size", "64x36", "--stats", "/no/such/stats.json"),
                        self.start(harness.BIN / VIEW, "--headless", "--stats", self.folder)):
            self.ends(program, harness.FAILED)
            self.one_message(program, "--stats|statistics")


if __name__ == "__main__":
    harness.main()
