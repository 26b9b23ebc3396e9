"""Ctrl-C ends a sender or viewer soon, in every state. It writes its statistics and leaves nothing behind."""
import os
import signal
import socket

import harness

# Promised are 2 s on an idle machine. A silent peer would be waited for during a handshake's 10 s or --timeout.
SOON_S = 8 * harness.TIMEOUT_SCALE
PATIENT = ("--timeout", f"{2 * harness.WATCHDOG_S:.0f}s")


class Interrupt(harness.EndToEnd):
    def send(self, *arguments, **options) -> harness.Program:
        return super().send(*arguments, *PATIENT, **options)

    def view(self, *arguments, **options) -> harness.Program:
        return super().view(*arguments, *PATIENT, **options)

    def ends_soon(self, program, status=harness.OK):
        self.ends(program, status, SOON_S)
        self.assertEqual(program.family(), [])

    def session(self, *options, transport="auto"):
        sender = self.send_on("pattern", "--size", "320x180", "--fps", "30", *options)
        viewer = self.view(sender.address, "--transport", transport, terminal=True)
        viewer.wait_line("shown [1-9]")
        return sender, viewer

    def check_viewer_first(self, transport: str):
        sender, viewer = self.session(transport=transport)
        viewer.interrupt()
        self.ends_soon(viewer)
        sender.wait_line("the viewer left$")
        viewer.wait_line("frames   [1-9][0-9]* received")
        self.assertTrue(sender.is_running())
        sender.interrupt()
        self.ends_soon(sender)
        sender.wait_line(r"^viewer .*: (joined at frame \d+; )?\d+ sent, \d+ skipped, (0 lost|\d+ unconfirmed); "
                         r"the viewer left$")
        self.checked_stats(sender, viewer)

    def test_the_viewer_over_shared_memory(self):
        self.check_viewer_first("local")

    def test_the_viewer_over_tcp(self):
        self.check_viewer_first("tcp")

    def test_the_sender(self):
        for transport in ("local", "tcp"):
            sender, viewer = self.session(transport=transport)
            sender.interrupt()
            self.ends_soon(sender)
            self.ends_soon(viewer)
            sent, shown = self.checked_stats(sender, viewer)
            self.assertEqual((sent["frames_lost"], shown["frames_lost"]), (0, 0))

    def test_sigterm_and_sighup_are_the_same(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            sender, viewer = self.session()
            viewer.signal(number)
            self.ends_soon(viewer)
            sender.signal(number)
            self.ends_soon(sender)
            self.checked_stats(sender, viewer)

    def test_a_sighup_that_is_to_be_ignored(self):
        """nohup starts programs like this."""
        sender = self.send_on("pattern", "--size", "64x36", prefix=("sh", "-c", 'trap "" HUP; exec "$@"', "sh"))
        viewer = self.view(sender.address, terminal=True)
        viewer.wait_line("shown [1-9]")
        sender.signal(signal.SIGHUP)
        self.ends(self.view(sender.address, "--frames", "20"))
        self.assertTrue(sender.is_running())
        sender.interrupt()
        self.ends_soon(sender)
        self.ends_soon(viewer)

    def test_ctrl_c_that_is_to_be_ignored(self):
        """A shell starts a script's background jobs like this."""
        sender = self.send_on("pattern", "--size", "64x36")
        viewer = self.view(sender.address, prefix=("sh", "-c", 'trap "" INT; exec "$@"', "sh"))
        viewer.wait_line("^transport=")
        viewer.interrupt()
        shown = self.view(sender.address, "--frames", "20")
        self.ends(shown)
        self.assertTrue(viewer.is_running())
        viewer.signal(signal.SIGTERM)
        self.ends_soon(viewer)
        sender.interrupt()
        self.ends_soon(sender)

    def test_alone(self):
        sender = self.send_on("pattern", "--size", "64x36")
        viewer = self.view(f"127.0.0.1:{harness.free_port()}")
        viewer.wait_line("^nothing listens")
        for program in (sender, viewer):
            program.interrupt()
            self.ends_soon(program)
            self.stats(program)

    def test_the_sender_while_a_viewer_is_stopped(self):
        for transport in ("local", "tcp"):
            for delivery in ("latest", "every"):
                sender, viewer = self.session("--delivery", delivery, transport=transport)
                viewer.pause()
                sender.interrupt()
                self.ends_soon(sender)
                self.stats(sender)
                viewer.go_on()
                viewer.kill()

    def test_the_viewer_while_the_sender_is_stopped(self):
        sender, viewer = self.session()
        sender.pause()
        viewer.interrupt()
        self.ends_soon(viewer)
        sender.go_on()
        sender.interrupt()
        self.ends_soon(sender)
        self.stats(sender)

    def test_while_reading_a_silent_stdin(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, writes)
        sender = self.send_on("-", stdin=reads)
        os.close(reads)
        viewer = self.view(sender.address)
        viewer.wait_line("transport=")
        sender.interrupt()
        self.ends_soon(sender)
        self.ends_soon(viewer)

    def test_while_it_allocates_gigabytes(self):
        """Not more than small machines have: five slots of 268 MB each."""
        sender = self.send_on("pattern", "--size", "8192x8192", "--viewers", "1", "--slots", "1")
        harness.wait_until(lambda: sender.shared_memory_kb() > 64 * 1024, "the first of 1.3 gigabytes",
                           poll_interval_s=0.001)
        sender.signal(signal.SIGTERM)
        self.ends_soon(sender)
        self.assertEqual(self.stats(sender)["frames_produced"], 0)

    def test_while_nobody_writes_the_named_pipe(self):
        os.mkfifo(self.file("pipe"))
        for number in (signal.SIGINT, signal.SIGTERM):
            sender = self.send("pipe", "--listen", "127.0.0.1:0")
            sender.wait_line("'pipe' is a named pipe; it begins when somebody writes into it")
            sender.signal(number)
            self.ends_soon(sender)
            sender.wait_line("cannot open 'pipe': it was stopped")
            self.assertEqual(self.stats(sender)["frames_produced"], 0)

    def test_while_the_writer_of_the_named_pipe_pauses(self):
        os.mkfifo(self.file("pipe"))
        frame = b"FRAME\n" + bytes(64 * 36 * 3 // 2)
        sender = self.send("pipe", "--listen", "127.0.0.1:0")
        with self.file("pipe").open("wb", buffering=0) as pipe:
            pipe.write(b"YUV4MPEG2 W64 H36 F30:1 C420jpeg\n" + 100 * frame)
            sender.wait_line("named pipe")
            sender.interrupt()
            self.ends_soon(sender)

    def test_while_nobody_reads_the_output(self):
        sender = self.send_on("pattern", "--size", "1280x720", "--fps", "30", "--delivery", "every")
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        viewer = self.view(sender.address, "--output", "-", stdout=writes)
        os.close(writes)
        viewer.wait_line("transport=")
        os.read(reads, 1)
        viewer.interrupt()
        self.ends_soon(viewer)
        sender.interrupt()
        self.ends_soon(sender)

    def test_while_nobody_reads_the_named_pipe(self):
        os.mkfifo(self.file("pipe"))
        for number in (signal.SIGINT, signal.SIGTERM):
            viewer = self.view(f"127.0.0.1:{harness.free_port()}", "--output", "pipe")
            viewer.wait_line("--output 'pipe' is a named pipe; the viewer begins when somebody reads it")
            viewer.signal(number)
            self.ends_soon(viewer)
            viewer.wait_line("interrupted while nobody read --output 'pipe'")
            self.assertEqual(self.stats(viewer)["frames_received"], 0)

    def test_while_nobody_reads_the_statistics(self):
        os.mkfifo(self.file("pipe"))
        sender = self.start(harness.BIN / "framewire-send", "pattern", "--size", "64x36", "--listen", "127.0.0.1:0",
                            "--stats", "pipe")
        port = sender.wait_line(r"^listening on .*:(\d+)").group(1)
        viewer = self.start(harness.BIN / "framewire-view", f"127.0.0.1:{port}", "--headless", "--size", "160x90",
                            "--stats", "pipe", terminal=True)
        viewer.wait_line("shown [1-9]")
        for program in (viewer, sender):
            program.interrupt()
            self.ends_soon(program, harness.FAILED)
            program.wait_line("nobody reads the statistics from the named pipe 'pipe'")

    def test_while_nobody_reads_the_frame_times(self):
        os.mkfifo(self.file("pipe"))
        sender = self.send_on("pattern", "--size", "64x36")
        viewer = self.view(sender.address, "--frame-times", "pipe", terminal=True)
        viewer.wait_line("shown [1-9]")
        viewer.interrupt()
        self.ends_soon(viewer, harness.FAILED)
        viewer.wait_line("nobody reads the frame times from the named pipe 'pipe'")
        sender.interrupt()
        self.ends_soon(sender)

    def test_while_dialling_somebody_who_is_silent(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            viewer = self.view(f"127.0.0.1:{silent.getsockname()[1]}", "--insecure")
            sender = self.send("pattern", "--size", "64x36", "--insecure",
                               "--to", f"127.0.0.1:{silent.getsockname()[1]}")
            for connection in (silent.accept()[0], silent.accept()[0]):
                self.addCleanup(connection.close)
            for program in (viewer, sender):
                program.interrupt()
            for program in (viewer, sender):
                self.ends_soon(program)

    def test_frames_and_duration_end_by_themselves(self):
        sender = self.send_on("pattern", "--size", "64x36", "--duration", "1s")
        viewer = self.view(sender.address)
        self.ends(viewer)
        self.ends(sender)
        self.checked_stats(sender, viewer)
        self.ends(self.view(f"127.0.0.1:{harness.free_port()}", "--duration", "500ms"), harness.LOST)


if __name__ == "__main__":
    harness.main()
