"""Inputs of a sender: network streams that come and go, libav's options, the names of streams."""
import http.server
import pathlib
import signal
import threading

import harness
import pictures

SEND = harness.BIN / "framewire-send"
LISTENING = "0A"  # in /proc/net/tcp
LIBAV_GIVES_UP = ("--input-option", "reconnect_delay_max=0")  # after one try, so that the sender has to open it again


def listens(port: int) -> bool:
    """Reads /proc/net/tcp: a test connection would use up the only one that such a server accepts."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == LISTENING for line in lines)


class BreaksOff(http.server.BaseHTTPRequestHandler):
    """Serves a file from the requested offset. Its first answers break off in the middle, and the next ones refuse."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        data, begin = self.server.data, 0
        wanted = self.headers.get("Range") if self.server.can_seek else None
        if wanted:
            begin = int(wanted.removeprefix("bytes=").split("-")[0])
        self.server.beginnings.append(begin)
        if not self.server.breaks and self.server.refusals > 0:
            self.server.refusals -= 1
            self.send_error(503)
            return
        breaks = self.server.breaks.pop(0) if self.server.breaks else len(data)
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(data) - begin))
        if self.server.can_seek:
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(data[begin:max(begin, breaks)])
        self.close_connection = True

    def log_message(self, *_):
        pass


class Inputs(harness.EndToEnd):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        harness.require_tool("ffmpeg")

    def serve(self, port: int, *target, is_awaited=False):
        """Simulates a camera with ffmpeg.

        `is_awaited`: a sender already retries, and may connect before listens() can see the listener.
        """
        server = self.start("ffmpeg", "-v", "error", "-nostdin", "-re", "-f", "lavfi",
                            "-i", "testsrc2=size=320x180:rate=30", "-c:v", "mpeg2video", "-g", "5",
                            "-f", "mpegts", *target)
        if not is_awaited:
            harness.wait_until(lambda: listens(port), "ffmpeg to listen")
        return server

    def goes_on_after_a_loss(self, port, url, *target):
        camera = self.serve(port, *target)
        sender = self.send_on("--name", "camera", url)
        viewer = self.view(sender.address, "--output", self.file("out.yuv"))
        viewer.wait_line("^transport=")
        for loss in (1, 2):
            size = self.size("out.yuv")
            harness.wait_until(lambda: self.size("out.yuv") > size, "frames")
            camera.kill()
            sender.wait_line(rf"warning: .* breaks off after \d+ frames?: .*opened again \(loss {loss}\)")
            camera = self.serve(port, *target, is_awaited=True)
            sender.wait_line("is back after", after=self.line_after(sender, f"loss {loss}"))
        size = self.size("out.yuv")
        harness.wait_until(lambda: self.size("out.yuv") > size, "frames")
        viewer.interrupt()
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        self.assertEqual(len([line for line in sender.lines if "opened again" in line]), 2, sender.text)
        sent, _ = self.checked_stats(sender, viewer)
        self.assertEqual(sent["source_losses"], 2)
        sender.wait_line(r"^stream camera: .* its input was lost 2 times")

    @staticmethod
    def line_after(program, words: str) -> int:
        return next(number for number, line in enumerate(program.lines) if words in line)

    def size(self, name: str) -> int:
        return self.file(name).stat().st_size if self.file(name).exists() else 0

    def test_tcp_is_found_again(self):
        port = harness.free_port()
        self.goes_on_after_a_loss(port, f"tcp://127.0.0.1:{port}", f"tcp://127.0.0.1:{port}?listen=1")

    def test_http_without_an_end_is_found_again(self):
        port = harness.free_port()
        url = f"http://127.0.0.1:{port}/live"
        self.goes_on_after_a_loss(port, url, "-listen", "1", url)

    def test_retry_ends_the_search(self):
        for retry, wanted in (("0", "the connection was closed; what came before was sent"),
                              ("300ms", "did not come back within 0.3 s")):
            port = harness.free_port()
            camera = self.serve(port, f"tcp://127.0.0.1:{port}?listen=1")
            sender = self.send_on(f"tcp://127.0.0.1:{port}", "--retry", retry)
            viewer = self.view(sender.address)
            viewer.wait_line("^transport=")
            camera.kill()
            self.ends(sender, harness.FAILED)
            self.one_message(sender, wanted, beside="opened again")
            self.ends(viewer)

    def test_ctrl_c_while_it_is_lost(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            port = harness.free_port()
            camera = self.serve(port, f"tcp://127.0.0.1:{port}?listen=1")
            sender = self.send_on(f"tcp://127.0.0.1:{port}")
            camera.kill()
            sender.wait_line("opened again")
            sender.signal(number)
            self.ends(sender)

    def film_by_http(self, *breaks, refusals=0, can_seek=True, encode=(), options=()):
        """Sends a film from a server whose answers break off at `breaks`. Returns the server, the sender, the film.

        libav probes 5 s at most: a film that breaks off later is open by then.
        """
        film = self.file("film.mkv")
        self.ends(self.run_to_end("ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi",
                                  "-i", "testsrc2=size=320x180:rate=30", "-frames:v", "300",
                                  "-c:v", "libx264", "-g", "30", "-pix_fmt", "yuv420p", *encode, film))
        data = film.read_bytes()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), BreaksOff)
        server.data, server.beginnings, server.breaks = data, [], [int(len(data) * one) for one in breaks]
        server.refusals, server.can_seek = refusals, can_seek
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        sender = self.send_on(f"http://127.0.0.1:{server.server_port}/film.mkv?x=1", "--delivery", "every", "--no-pace",
                              *options)
        return server, sender, film

    def shows_whole_film(self, sender, film):
        viewer = self.view(f"{sender.address}/film", "--output", self.file("out.yuv"))
        self.ends(viewer)
        self.ends(sender)
        # Not assertEqual(), which would look for the differences of films for minutes.
        self.assertTrue(self.file("out.yuv").read_bytes() == pictures.read_by_ffmpeg("-i", film), sender.text)

    def test_a_film_by_http_goes_on_where_it_was_cut_off(self):
        server, sender, film = self.film_by_http(0.6)
        self.shows_whole_film(sender, film)
        self.assertGreater(len(server.beginnings), 1, "it was cut off")

    def test_a_film_by_http_that_is_opened_again_goes_on_where_it_was_cut_off(self):
        # A format may ask for other places at once, so that some numbers of refusals let it go on behind a gap.
        refused = [(count, True, ()) for count in (1, 2, 3, 4)]
        for refusals, can_seek, options in (*refused, (4, True, ("--fps", "24")), (2, False, ()),
                                            (2, False, ("--fps", "24"))):
            with self.subTest(refusals=refusals, can_seek=can_seek, options=options):
                _, sender, film = self.film_by_http(0.6, refusals=refusals, can_seek=can_seek,
                                                    options=(*LIBAV_GIVES_UP, *options))
                self.shows_whole_film(sender, film)
                sender.wait_line(r"breaks off after \d+ frames: .*opened again \(loss 1\)")
                sender.wait_line("is back after")
                self.assertEqual("cannot seek: it is read from its beginning" in sender.text, not can_seek, sender.text)
                self.assertEqual(self.stats(sender)["source_losses"], 1)

    def test_a_film_by_http_that_was_cut_off_after_its_last_picture_ends(self):
        _, sender, film = self.film_by_http(0.9999, refusals=3, encode=("-tune", "zerolatency"),
                                            options=(*LIBAV_GIVES_UP, "--input-option", "threads=1"))
        self.shows_whole_film(sender, film)
        sender.wait_line("breaks off after 300 frames: .*opened again")

    def test_a_loop_by_http_goes_on_when_its_server_refuses_for_a_while(self):
        server, sender, film = self.film_by_http(options=(*LIBAV_GIVES_UP, "--loop"))
        server.refusals = 10 ** 9  # all but the answer that the film is read from
        viewer = self.view(f"{sender.address}/film", "--frames", "700", "--output", self.file("out.yuv"))
        sender.wait_line("cannot open .*opened again")
        server.refusals = 0
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        seen, once = self.file("out.yuv").read_bytes(), pictures.read_by_ffmpeg("-i", film)
        self.assertTrue(seen == (3 * once)[:len(once) * 700 // 300], sender.text)

    def test_ctrl_c_while_a_film_by_http_is_refused(self):
        server, sender, _ = self.film_by_http(0.6, refusals=10 ** 9, options=LIBAV_GIVES_UP)
        viewer = self.view(sender.address)
        sender.wait_line("opened again")
        asked = len(server.beginnings)
        harness.wait_until(lambda: len(server.beginnings) > asked, "the sender to ask again")
        sender.interrupt()
        self.ends(sender)
        self.ends(viewer)

    def test_retry_ends_a_film_by_http_too(self):
        for retry, wanted in (("0", "; what came before was sent"), ("300ms", "did not come back within 0.3 s")):
            _, sender, _ = self.film_by_http(0.6, refusals=10 ** 9, options=(*LIBAV_GIVES_UP, "--retry", retry))
            viewer = self.view(sender.address)
            self.ends(sender, harness.FAILED)
            self.one_message(sender, wanted, beside="opened again")
            self.ends(viewer)

    def test_libavs_options(self):
        film = self.file("film.mkv")
        self.ends(self.run_to_end("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi",
                                  "-i", "testsrc2=size=320x180:rate=30", "-frames:v", "30", "-c:v", "ffv1", film))
        unknown = self.run_to_end(SEND, film, "--input-option", "rtsp_transport=tcp",
                                  "--input-option", "probesize=100000")
        self.assertEqual(unknown.process.returncode, harness.USAGE, unknown.text)
        self.one_message(unknown, "'rtsp_transport'", "matroska", "ffv1")
        self.assertNotIn("'probesize'", unknown.text)
        sender = self.send_on("-f", "matroska", "--input-option", "threads=1", "--start", "0:00.5",
                              "--delivery", "every", "--no-pace", film)
        viewer = self.view(sender.address, "--output", self.file("out.yuv"))
        self.ends(viewer)
        self.ends(sender)
        whole = pictures.read_by_ffmpeg("-i", film)
        self.assertEqual(self.file("out.yuv").read_bytes(), whole[len(whole) // 2:])

    def test_options_that_are_wrong(self):
        for words, wanted in ((("--input-option", "tcp", "film.mkv"), "KEY=VALUE"),
                              (("--start", "1:75", "film.mkv"), "1:02:03"),
                              (("--start", "-3", "film.mkv"), "--start"),
                              (("--start", "10", "pattern"), "no SOURCE is one"),
                              (("--name", "a", "--name", "b", "pattern"), "2 times for 1 SOURCE"),
                              (("--name", "a b", "pattern"), "'a b'"), (("-f", "nosuch", "film.mkv"), "'nosuch'")):
            with self.subTest(words):
                program = self.run_to_end(SEND, *words)
                self.assertEqual(program.process.returncode, harness.USAGE, program.text)
                self.one_message(program, wanted)

    def test_names(self):
        sender = self.send_on("--name", "left", "lavfi:testsrc2=size=64x36:rate=30000/1001,rotate=t",
                              "lavfi:testsrc2=size=64x36", "lavfi:testsrc2=size=64x36", "--no-pace")
        for name in ("left", "testsrc2", "testsrc2-2"):
            sender.wait_line(f"^stream {name}: ")
            self.ends(self.view(f"{sender.address}/{name}", "--frames", "3"))


if __name__ == "__main__":
    harness.main()
