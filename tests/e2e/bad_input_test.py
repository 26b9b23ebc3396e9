"""What bad input gets: the exit status of its kind, and one sentence that names the thing, the value and the way out."""
import os
import socket
import subprocess

import harness
import pictures

SEND, VIEW = "framewire-send", "framewire-view"

# (program, arguments, exit status, what the sentence says)
COMMAND_LINES = [
    (SEND, [], harness.USAGE, ["SOURCE", "--help"]),
    (SEND, ["pattern", "--no-such-option"], harness.USAGE, ["--no-such-option", "--help"]),
    (SEND, ["pattern:none"], harness.USAGE, ["'pattern:none'", "pattern:bars", "pattern:stamped"]),
    (SEND, ["gl:none"], harness.USAGE, ["'?none'?", "orbit"]),
    (SEND, ["no/such/file.mkv"], harness.FAILED, ["no/such/file.mkv", "no such file"]),
    (SEND, ["gl:no/such.frag"], harness.FAILED, ["no/such.frag"]),
    (SEND, ["v4l2:/dev/no-video"], harness.FAILED, ["/dev/no-video"]),
    (SEND, ["lavfi:nosuchfilter"], harness.FAILED, ["nosuchfilter"]),
    (SEND, ["pattern", "--pix-fmt", "yuv999"], harness.USAGE, ["--pix-fmt", "'yuv999'", "nv12"]),
    (SEND, ["pattern", "--pix-fmt", "bytes"], harness.USAGE, ["--pix-fmt", "bytes"]),
    (SEND, ["pattern", "--size", "0x100"], harness.USAGE, ["--size", "'0x100'", "3840x2160"]),
    (SEND, ["pattern", "--size", "100"], harness.USAGE, ["--size", "'100'", "3840x2160"]),
    (SEND, ["pattern", "--size", "99999x99999"], harness.USAGE, ["--size", "'99999x99999'", "32768"]),
    (SEND, ["pattern", "--size", "-5x10"], harness.USAGE, ["--size", "'-5x10'"]),
    (SEND, ["pattern", "--size", ""], harness.USAGE, ["--size"]),
    (SEND, ["pattern", "--fps", "0"], harness.USAGE, ["--fps", "'0'", "60"]),
    (SEND, ["pattern", "--fps", "nan"], harness.USAGE, ["--fps", "'nan'"]),
    (SEND, ["pattern", "--fps", "1e9"], harness.USAGE, ["--fps", "'1e9'"]),
    (SEND, ["pattern", "--delivery", "some"], harness.USAGE, ["--delivery", "'some'", "latest or every"]),
    (SEND, ["pattern", "--slots", "0"], harness.USAGE, ["--slots", "'0'", "1 to 64"]),
    (SEND, ["pattern", "--slots", "65"], harness.USAGE, ["--slots", "'65'", "1 to 64"]),
    (SEND, ["pattern", "--viewers", "many"], harness.USAGE, ["--viewers", "'many'"]),
    (SEND, ["pattern", "--transport", "rdma"], harness.USAGE, ["--transport", "'rdma'", "auto, local or tcp"]),
    (SEND, ["pattern", "--transport", "pigeon"], harness.USAGE, ["--transport", "'pigeon'", "auto, local or tcp"]),
    (SEND, ["pattern", "--memory", "cuda"], harness.USAGE, ["--memory", "'cuda'", "host"]),
    (SEND, ["pattern", "--frames", "-1"], harness.USAGE, ["--frames", "'-1'"]),
    (SEND, ["pattern", "--duration", "1y"], harness.USAGE, ["--duration", "'1y'", "2.5s"]),
    (SEND, ["pattern", "--timeout", "soon"], harness.USAGE, ["--timeout", "'soon'"]),
    (SEND, ["pattern", "--listen", "127.0.0.1:99999"], harness.USAGE, ["'127.0.0.1:99999'", "65535"]),
    (SEND, ["pattern", "--listen", "127.0.0.1:1", "--to", "localhost"], harness.USAGE, ["--listen", "--to"]),
    (SEND, ["pattern", "--size", "64x36", "--listen", "192.0.2.1:5290", "--insecure"], harness.FAILED, ["192.0.2.1", "--listen"]),
    (SEND, ["pattern", "--size", "64x36", "--listen", "0.0.0.0:5290"], harness.REFUSED, ["0.0.0.0:5290", "framewire key", "--insecure"]),
    (SEND, ["pattern", "pattern", "--size", "64x36"], harness.USAGE, ["two sources", "'pattern'"]),
    (SEND, ["-", "--loop"], harness.USAGE, ["--loop", "standard input"]),
    (VIEW, ["--no-such-option"], harness.USAGE, ["--no-such-option", "--help"]),
    (VIEW, ["one", "two"], harness.USAGE, ["'one', 'two'"]),
    (VIEW, ["localhost/"], harness.USAGE, ["'localhost/'", "HOST/STREAM"]),
    (VIEW, ["*:5290"], harness.USAGE, [r"'\*:5290'", "--listen"]),
    (VIEW, ["localhost:http"], harness.USAGE, ["'localhost:http'"]),
    (VIEW, ["--listen", "127.0.0.1:0", "localhost"], harness.USAGE, ["--listen", "'localhost'"]),
    (VIEW, ["--headless", "--fullscreen"], harness.USAGE, ["--headless", "--fullscreen"]),
    (VIEW, ["--headless", "--size", "12"], harness.USAGE, ["--size", "'12'"]),
    (VIEW, ["--headless", "--monitor", "1"], harness.USAGE, ["--headless", "--monitor"]),
    (VIEW, ["--monitor", "x"], harness.USAGE, ["--monitor", "'x'"]),
    (VIEW, ["--headless", "--screenshot", "shot.jpg"], harness.USAGE, ["'shot.jpg'", r"\.png"]),
    (VIEW, ["--headless", "--delivery", "most"], harness.USAGE, ["--delivery", "'most'"]),
    (VIEW, ["--headless", "--retry", "never"], harness.USAGE, ["--retry", "'never'"]),
    (VIEW, ["--headless", "--transport", "rdma"], harness.USAGE, ["--transport", "'rdma'", "auto, local or tcp"]),
    (VIEW, ["--headless", "--memory", "cuda"], harness.USAGE, ["--memory", "'cuda'", "host"]),
    (VIEW, ["--headless", "--screenshot", "/no/such/folder/shot.png"], harness.FAILED, ["/no/such/folder/shot.png"]),
    (VIEW, ["--headless", "--output", "/no/such/folder/out.y4m"], harness.FAILED, ["/no/such/folder/out.y4m"]),
    (VIEW, ["--headless", "--stats", "/no/such/folder/stats.json"], harness.FAILED, ["/no/such/folder/stats.json"]),
    (VIEW, ["localhost:1"], harness.FAILED, ["display", "--headless"]),
    ("framewire", [], harness.USAGE, []),
    ("framewire", ["sned"], harness.USAGE, ["'sned'", "--help"]),
    ("framewire", ["../bin/framewire-send"], harness.USAGE, ["--help"]),
]

HEADER = b"YUV4MPEG2 W64 H36 F30:1 Ip A1:1 C420jpeg\n"

# What comes on stdin of `framewire send -`, and what the sentence says.
STANDARD_INPUTS = [
    (b"", ["nothing came on standard input"]),
    (b"hello, world, this is no video", ["not y4m", "hello", "--size", "--pix-fmt"]),
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


class BadCommandLines(harness.EndToEnd):
    def test_each_gets_its_status_and_one_sentence(self):
        for name, arguments, status, wanted in COMMAND_LINES:
            with self.subTest(f"{name} {' '.join(arguments)}"):
                program = self.start(harness.BIN / name, *arguments)
                self.ends(program, status)
                if wanted:
                    self.one_sentence(program, *wanted)
                    self.assertLessEqual(len(program.lines), 2, program.text)  # a source may have been named before

    def test_help_and_version_are_no_errors(self):
        for name in (SEND, VIEW, "framewire", "framewire-bench", "framewire-key"):
            for option in ("--help", "--version"):
                with self.file("stdout").open("wb") as stdout:
                    program = self.start(harness.BIN / name, option, stdout=stdout)
                    self.ends(program)
                self.assertEqual(program.lines, [])
                self.assertIn(b"framewire", self.file("stdout").read_bytes())


class BadInput(harness.EndToEnd):
    def test_standard_input(self):
        for words, wanted in STANDARD_INPUTS:
            with self.subTest(words[:40]):
                self.file("stdin").write_bytes(words)
                with self.file("stdin").open("rb") as stdin:
                    self.one_sentence(self.send_to_its_end("-", stdin=stdin), *wanted)

    def test_an_absurd_size_costs_no_memory(self):
        with self.file("stdin").open("w+b") as stdin:
            stdin.write(b"YUV4MPEG2 W32768 H32768 F30:1\n")
            stdin.seek(0)
            sender = self.send_to_its_end("-", prefix=["prlimit", f"--as={3 * 2**30}"], stdin=stdin)
            self.one_sentence(sender, "32768x32768|GB")

    def test_standard_streams_that_are_closed(self):
        """Nothing else gets their numbers: a log line would go to a viewer, as frames."""
        sender = self.send("pattern:stamped", "--size", "64x36", "--listen", "127.0.0.1:0", prefix=["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"])
        names = harness.wait_until(lambda: self.standard_streams(sender), "its standard streams to be held")
        self.assertEqual(names, ["/dev/null"] * 3)
        sender.interrupt()
        self.ends(sender)

    @staticmethod
    def standard_streams(program) -> list[str]:
        try:
            return [os.readlink(f"/proc/{program.pid}/fd/{number}") for number in range(3)]
        except FileNotFoundError:
            return []

    def test_stdin_that_is_closed(self):
        sender = self.send("-", prefix=["sh", "-c", 'exec "$@" <&-', "sh"])
        self.ends(sender, harness.FAILED)
        self.one_sentence(sender, "standard input is closed")

    def test_a_port_in_use(self):
        sender = self.send_on("pattern", "--size", "64x36")
        second = self.send("pattern", "--size", "64x36", "--listen", sender.address)
        self.ends(second, harness.FAILED)
        self.one_sentence(second, f"port {sender.port}", "in use", "--listen")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            third = self.send("pattern", "--size", "64x36", "--listen", f"127.0.0.1:{port}")
            self.ends(third, harness.FAILED)
            self.one_sentence(third, f"port {port}", "in use", "--listen")
        viewer = self.view("--listen", sender.address)
        self.ends(viewer, harness.FAILED)
        self.one_sentence(viewer, f"port {sender.port}", "in use", "--listen")

    def test_not_enough_memory_for_the_slots(self):
        sender = self.send_to_its_end("pattern", "--size", "32768x32768", "--slots", "64")
        self.one_sentence(sender, "slots", "memory|GB", "--size|--slots|--viewers")

    def test_shader_errors_with_their_lines(self):
        shader = self.file("mine.frag")
        shader.write_text("void mainImage(out vec4 colour, in vec2 place) {\n  colour = vec4(1.0);\n  color = 7;\n}\n")
        sender = self.send_to_its_end(f"gl:{shader}", "--size", "64x36")
        self.assertRegex(sender.text, r"mine\.frag")
        self.assertRegex(sender.text, r"\b3\b")
        self.assertRegex(sender.text, "color")
        shader.write_text("")
        empty = self.send_to_its_end(f"gl:{shader}", "--size", "64x36")
        self.assertRegex(empty.text, r"mine\.frag")

    def test_files_that_are_no_video(self):
        harness.require_tool("ffmpeg")
        self.file("noise.mkv").write_bytes(os.urandom(20_000))
        self.file("empty.mp4").write_bytes(b"")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "sine=duration=1", str(self.file("sound.wav"))], check=True)
        for name in ("noise.mkv", "empty.mp4", "sound.wav", "."):
            with self.subTest(name):
                program = self.run_to_end(harness.BIN / SEND, name)
                self.assertEqual(program.process.returncode, harness.FAILED, program.text)
                self.one_sentence(program, f"'{name}'")

    def test_a_codec_that_this_machine_does_not_decode(self):
        harness.require_tool("ffmpeg")
        film = self.file("film.avi")
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=64x36", "-frames:v", "3", "-c:v", "mpeg4",
                        "-vtag", "XVID", str(film)], check=True)
        film.write_bytes(film.read_bytes().replace(b"XVID", b"QZQZ").replace(b"xvid", b"qzqz"))
        program = self.run_to_end(harness.BIN / SEND, film)
        self.assertEqual(program.process.returncode, harness.FAILED, program.text)
        self.one_sentence(program, "film.avi")

    def test_no_display(self):
        viewer = self.view("127.0.0.1:1", headless=False, environment=self.environment(DISPLAY=":31999"))
        self.ends(viewer, harness.FAILED)
        self.one_sentence(viewer, "':31999'", "--headless")

    def test_statistics_that_cannot_be_written(self):
        for program in (self.start(harness.BIN / SEND, "pattern", "--size", "64x36", "--stats", "/no/such/stats.json", "--listen", "127.0.0.1:0"),
                        self.start(harness.BIN / VIEW, "--headless", "--stats", self.folder)):
            self.ends(program, harness.FAILED)
            self.one_sentence(program, "--stats|statistics")


class FullDisk(harness.EndToEnd):
    def test_recording_stops_and_the_stream_goes_on(self):
        sender = self.send_on("pattern", "--size", "64x36", "--frames", "60")
        viewer = self.view(sender.address, "--output", "/dev/full")
        self.ends(viewer, harness.FAILED)
        self.ends(sender)
        self.one_sentence(viewer, "recording has stopped", "/dev/full", "No space left")
        _, shown = self.checked_stats(sender, viewer)
        self.assertEqual(shown["frames_recorded"], 0)
        self.assertGreater(shown["frames_received"], 10)

    def test_the_file_is_good_to_its_last_whole_frame(self):
        """A limit of the file's size stands for a disk that is full: it needs no root."""
        frame_bytes = 64 * 36 * 3 // 2
        sender = self.send_on("pattern", "--size", "64x36", "--pix-fmt", "yuv420p", "--frames", "60", "--delivery", "every")
        output = self.file("out.y4m")
        viewer = self.view(sender.address, "--output", output, prefix=["prlimit", "--fsize=50000"])
        self.ends(viewer, harness.FAILED)
        self.ends(sender)
        self.one_sentence(viewer, "recording has stopped", "out.y4m", "14 whole frames")
        _, frames = pictures.y4m_frames(output.read_bytes(), frame_bytes)
        self.assertEqual(len(frames), 14)
        _, shown = self.checked_stats(sender, viewer)
        self.assertEqual((shown["frames_recorded"], shown["frames_received"]), (14, 60))

    def test_a_reader_that_leaves(self):
        sender = self.send_on("pattern", "--size", "64x36", "--frames", "100000")
        reads, writes = os.pipe()
        viewer = self.view(sender.address, "--output", "-", stdout=writes)
        os.close(writes)
        os.read(reads, 10_000)
        os.close(reads)
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.checked_stats(sender, viewer)

    def test_stdout_that_is_closed(self):
        viewer = self.view("127.0.0.1:1", "--output", "-", prefix=["sh", "-c", 'exec "$@" >&-', "sh"])
        self.ends(viewer, harness.FAILED)
        self.one_sentence(viewer, "standard output")


if __name__ == "__main__":
    harness.main()
