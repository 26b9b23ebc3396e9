"""A sent and recorded H.264 file equals ffmpeg's output frame by frame. A damaged file loses only damaged frames."""
import subprocess

import harness
import pictures

SIZE, FRAMES = (320, 180), 60
FRAME_BYTES = SIZE[0] * SIZE[1] * 3 // 2  # yuv420p


def frames_of(data: bytes) -> list[bytes]:
    return [data[at:at + FRAME_BYTES] for at in range(0, len(data), FRAME_BYTES)]


class File(harness.EndToEnd):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        harness.require_tool("ffmpeg")

    def make_film(self, name="film.mp4", *options):
        film = self.file(name)
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi",
                        "-i", f"testsrc2=size={SIZE[0]}x{SIZE[1]}:rate=30",
                        "-frames:v", str(FRAMES), "-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-g", "20",
                        "-pix_fmt", "yuv420p", *options, str(film)], check=True, timeout=60)
        return film

    def damage(self, film):
        """In or behind the middle, where the decoder notices it: it depends on the bytes, which are not the same on all
        processors, and ffmpeg has the same decoder."""
        whole = film.read_bytes()
        for begin in range(len(whole) // 2, len(whole) * 2 // 3, 300):
            wrong = bytes(byte ^ 0x5A for byte in whole[begin:begin + 300])
            film.write_bytes(whole[:begin] + wrong + whole[begin + 300:])
            if subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(film), "-f", "null", "-"],
                              stderr=subprocess.PIPE, check=False, timeout=60).stderr:
                return
        self.fail("ffmpeg has noticed no damage")

    def record(self, *source, output="out.yuv", transport="auto", status=harness.OK):
        """Sends and records every frame; returns the bytes of the recording."""
        sender = self.send_on(*source, "--delivery", "every", "--no-pace")
        target = self.file(output)
        viewer = self.view(sender.address, "--transport", transport, "--output", target)
        self.ends(viewer)
        self.ends(sender, status)
        sent, shown = self.checked_stats(sender, viewer)
        self.assertEqual((sent["frames_skipped"], sent["frames_lost"], shown["frames_skipped"]), (0, 0, 0))
        self.assertEqual(shown["frames_recorded"], sent["frames_produced"])
        self.assertIsNone(shown["frames_torn"], "these frames carry no stamps")
        return target.read_bytes(), sender

    def check_whole(self, recorded: bytes, film):
        expected = frames_of(pictures.read_by_ffmpeg("-i", film))
        self.assertEqual(len(expected), FRAMES)
        self.assertEqual(len(set(expected)), FRAMES, "a test film whose frames are alike shows nothing")
        got = frames_of(recorded)
        self.assertEqual(len(got), FRAMES)
        self.assertEqual([i for i in range(FRAMES) if got[i] != expected[i]], [])

    def test_every_frame_over_shared_memory(self):
        film = self.make_film()
        self.check_whole(self.record(film, transport="local")[0], film)

    def test_every_frame_over_tcp(self):
        film = self.make_film()
        self.check_whole(self.record(film, transport="tcp")[0], film)

    def test_latest_begins_with_the_first_frame_too(self):
        film = self.make_film()
        sender = self.send_on(film)
        viewer = self.view(sender.address)
        self.ends(viewer)
        self.ends(sender)
        sent, _ = self.checked_stats(sender, viewer)
        (session,) = sent["sessions"]
        self.assertEqual((session["first_frame"], session["frames_produced"], sent["frames_produced"]),
                         (1, FRAMES, FRAMES))
        self.assertNotIn("joined at frame", sender.text)

    def test_y4m_file(self):
        film = self.make_film()
        header, frames = pictures.y4m_frames(self.record(film, output="out.y4m")[0], FRAME_BYTES)
        self.assertRegex(header, r"^YUV4MPEG2 W320 H180 F30:1 .*C420")
        self.check_whole(b"".join(frames), film)

    def test_y4m_through_pipes_on_both_sides(self):
        film = self.make_film()
        decoder = subprocess.Popen(["ffmpeg", "-v", "error", "-nostdin", "-i", str(film), "-f", "yuv4mpegpipe", "-"],
                                   stdout=subprocess.PIPE)
        self.addCleanup(decoder.wait)
        self.addCleanup(decoder.kill)
        sender = self.send_on("-", "--delivery", "every", "--no-pace", stdin=decoder.stdout)
        decoder.stdout.close()
        with self.file("piped.y4m").open("wb") as piped:
            viewer = self.view(sender.address, "--output", "-", stdout=piped)
            self.ends(viewer)
        self.ends(sender)
        self.check_whole(b"".join(pictures.y4m_frames(self.file("piped.y4m").read_bytes(), FRAME_BYTES)[1]), film)

    def test_raw_frames_on_stdin(self):
        frames = b"".join(bytes([i]) * 64 * 36 * 3 for i in range(20))
        self.file("in.rgb").write_bytes(frames)
        with self.file("in.rgb").open("rb") as source:
            sender = self.send_on("-", "--size", "64x36", "--pix-fmt", "rgb24", "--fps", "200", "--delivery", "every",
                                  stdin=source)
            viewer = self.view(sender.address, "--output", self.file("out.rgb"))
            self.ends(viewer)
        self.ends(sender)
        self.assertEqual(self.file("out.rgb").read_bytes(), frames)

    def test_loop_plays_it_again(self):
        film = self.make_film()
        recorded, _ = self.record(film, "--loop", "--frames", "130")
        expected = frames_of(pictures.read_by_ffmpeg("-i", film))
        self.assertEqual(frames_of(recorded), (expected * 3)[:130])

    def test_of_a_film_cut_off_the_good_frames_are_shown(self):
        film = self.make_film("film.mkv")
        whole = film.read_bytes()
        film.write_bytes(whole[:len(whole) * 6 // 10])
        expected = frames_of(pictures.read_by_ffmpeg("-i", film))
        sender = self.send_on(film, "--delivery", "every", "--no-pace")
        viewer = self.view(sender.address, "--output", self.file("out.yuv"))
        self.ends(viewer)
        self.ends(sender, harness.FAILED)
        got = frames_of(self.file("out.yuv").read_bytes())
        self.assertGreater(len(got), 15)
        self.assertEqual(got, expected)
        self.one_message(sender, f"film.mkv' breaks off after {len(got)} frames", "what came before was sent")

    def test_y4m_keeps_where_chroma_lies_and_which_field_comes_first(self):
        """framewire parses y4m from standard input itself; libav reads it from a file."""
        tags = "Ib A1:1 C420paldv"
        frames = b"".join(b"FRAME\n" + bytes([i]) * (64 * 36 * 3 // 2) for i in range(1, 4))
        film = self.file("fields.y4m")
        film.write_bytes(f"YUV4MPEG2 W64 H36 F30:1 {tags}\n".encode() + frames)
        for source in ("-", film):
            with film.open("rb") as stdin:
                sender = self.send_on(source, "--delivery", "every", "--no-pace", stdin=stdin)
                target = self.file("out.y4m")
                viewer = self.view(sender.address, "--output", target, "--verbose")
                self.ends(viewer)
            self.ends(sender)
            recorded = target.read_bytes()
            self.assertIn(tags, recorded.split(b"\n")[0].decode(), source)
            self.assertEqual(recorded.split(b"\n", 1)[1], frames, source)
            self.assertIn("chroma topleft, interlaced bb", viewer.text)
            self.assertEqual(viewer.text.count("is interlaced (bb)"), 1, viewer.text)

    def test_of_a_film_damaged_in_the_middle_the_rest_is_shown(self):
        film = self.make_film("film.mkv")
        good = frames_of(pictures.read_by_ffmpeg("-i", film))
        self.damage(film)
        sender = self.send_on(film, "--delivery", "every", "--no-pace")
        viewer = self.view(sender.address, "--output", self.file("out.yuv"))
        self.ends(viewer)
        self.ends(sender)
        self.one_message(sender, "warning: .*film.mkv' is damaged: [1-9]")
        got = frames_of(self.file("out.yuv").read_bytes())
        self.assertEqual(got[:20], good[:20])
        self.assertEqual(got[-1], good[-1], "it is found again at the next key frame")
        self.assertGreater(len(got), FRAMES - 25)

    def test_of_stdin_cut_off_the_good_frames_are_shown(self):
        header = b"YUV4MPEG2 W64 H36 F30:1 Ip A1:1 C420jpeg\n"
        frame_bytes = 64 * 36 * 3 // 2
        good = [bytes([i]) * frame_bytes for i in range(1, 8)]
        self.file("cut.y4m").write_bytes(header + b"".join(b"FRAME\n" + frame for frame in good) + b"FRAME\n"
                                         + bytes(100))
        with self.file("cut.y4m").open("rb") as source:
            sender = self.send_on("-", "--delivery", "every", "--no-pace", stdin=source)
            viewer = self.view(sender.address, "--output", self.file("out.yuv"))
            self.ends(viewer)
        self.ends(sender, harness.FAILED)
        self.one_message(sender, "middle of frame 8", "100 of 3456 bytes", "7 frames were sent")
        self.assertEqual(self.file("out.yuv").read_bytes(), b"".join(good))


if __name__ == "__main__":
    harness.main()
