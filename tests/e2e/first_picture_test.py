"""The viewer shows the picture that the sender sends, and the statistics account for every frame."""
import harness
import pictures


class FirstPicture(harness.EndToEnd):
    def send_and_view(self, *source, transport="auto", size="160x90"):
        sender = self.send_on(*source)
        viewer = self.view(sender.address, "--transport", transport, "--screenshot", self.file("shown.png"),
                           "--size", size)
        self.ends(viewer)
        self.ends(sender)
        return *self.checked_stats(sender, viewer), viewer

    def check_bars(self, picture: pictures.Picture):
        """Checks the eight moving bars at 75 %: white, yellow, cyan, green, magenta, red, blue, black."""
        order = [(191, 191, 191), (191, 191, 0), (0, 191, 191), (0, 191, 0),
                 (191, 0, 191), (191, 0, 0), (0, 0, 191), (0, 0, 0)]
        row = [picture.at(x / picture.width, 0.3) for x in range(picture.width)]
        seen = [next((i for i, bar in enumerate(order) if all(abs(a - b) <= 2 for a, b in zip(pixel, bar))), None)
                for pixel in row]
        # A pixel at an edge may mix two bars, and the marks of the test frames are single pixels.
        clean = [bar for i, bar in enumerate(seen)
                 if bar is not None and bar in (seen[i - 1], seen[(i + 1) % len(seen)])]
        self.assertGreater(len(clean), 0.85 * len(row), row)
        runs = [bar for i, bar in enumerate(clean) if i == 0 or bar != clean[i - 1]]
        self.assertEqual(set(runs), set(range(8)), runs)
        for left, right in zip(runs, runs[1:]):
            self.assertEqual(right, (left + 1) % 8, runs)

    def check_pattern(self, sent, shown):
        self.assertEqual(sent["frames_produced"], 60)
        self.assertEqual(sent["frames_lost"], 0)
        self.assertEqual(shown["frames_torn"], 0)
        self.assertGreater(shown["frames_shown"], 0)
        # The viewer need not check frames that it drops unshown.
        self.assertGreaterEqual(shown["frames_checked"], shown["frames_shown"])

    def test_bars_over_shared_memory(self):
        sent, shown, viewer = self.send_and_view("pattern", "--size", "320x180", "--frames", "60")
        self.check_pattern(sent, shown)
        self.assertEqual((sent["transport"], shown["transport"]), ("local", "local"))
        viewer.wait_line(r"transport=local memory=host auth=user control=unix frames=plaintext \(auto: local")
        self.check_bars(pictures.read_png(self.file("shown.png")))

    def test_bars_over_tcp(self):
        sent, shown, viewer = self.send_and_view("pattern", "--size", "320x180", "--frames", "60", transport="tcp")
        self.check_pattern(sent, shown)
        self.assertEqual((sent["transport"], shown["transport"]), ("tcp", "tcp"))
        viewer.wait_line(r"transport=tcp memory=host auth=user control=unix frames=plaintext")
        self.check_bars(pictures.read_png(self.file("shown.png")))

    def test_bars_in_the_pixel_format_of_most_videos(self):
        self.send_and_view("pattern", "--size", "320x180", "--frames", "30", "--pix-fmt", "yuv420p")
        self.check_bars(pictures.read_png(self.file("shown.png")))

    def test_every_frame_is_stamped_and_whole(self):
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--frames", "200", "--delivery", "every",
                              "--no-pace")
        record = pictures.StampedRecording(self.file("frames.rgba"), 64 * 36 * 4)
        viewer = self.view(sender.address, "--transport", "tcp", "--output", record.path, "--verify")
        self.ends(viewer)
        self.ends(sender)
        sent, shown = self.checked_stats(sender, viewer)
        self.assertEqual((sent["frames_skipped"], sent["frames_lost"]), (0, 0))
        self.assertEqual((shown["frames_torn"], shown["frames_recorded"]), (0, 200))
        self.assertEqual(record.sequences(), list(range(200)))

    def test_frames_in_slices_are_whole(self):
        for transport in ("local", "tcp"):
            sender = self.send_on("pattern:stamped", "--size", "320x180", "--frames", "100", "--delivery", "every",
                                  "--slices", "7", "--fps", "200")
            record = pictures.StampedRecording(self.file(f"{transport}.rgba"), 320 * 180 * 4)
            viewer = self.view(sender.address, "--transport", transport, "--output", record.path, "--verify")
            self.ends(viewer)
            self.ends(sender)
            sent, shown = self.checked_stats(sender, viewer)
            self.assertEqual((sent["frames_skipped"], sent["frames_aborted"], sent["frames_lost"]), (0, 0, 0))
            self.assertEqual((shown["frames_torn"], shown["frames_checked"]), (0, 100))
            self.assertEqual(record.sequences(), list(range(100)))

    def test_bars_in_slices(self):
        for transport in ("local", "tcp"):
            sent, shown, _ = self.send_and_view("pattern", "--size", "320x180", "--frames", "60", "--slices", "8",
                                                transport=transport)
            self.check_pattern(sent, shown)
            self.check_bars(pictures.read_png(self.file("shown.png")))

    def test_a_rendered_scene_with_its_counter(self):
        frames = 40
        sent, shown, _ = self.send_and_view("gl:", "--size", "416x234", "--frames", str(frames), "--fps", "30",
                                            "--slices", "5", size="416x234")
        picture = pictures.read_png(self.file("shown.png"))
        self.assertEqual((picture.width, picture.height), (416, 234))
        self.assertGreater(picture.colours(), 500)
        self.assertEqual(sent["frames_produced"], frames)
        # A scene runs in real time: a slow machine leaves out frames, and the counter shows it.
        self.assertGreaterEqual(pictures.read_counter(picture), shown["frames_shown"] - 1)

    def test_two_streams_of_one_sender(self):
        sender = self.send_on("pattern:bars", "pattern:stamped", "--size", "64x36", "--fps", "30")
        stamped = self.view(f"{sender.address}/pattern-stamped", "--frames", "5", "--output", self.file("stamped.rgba"))
        bars = self.view(f"{sender.address}/pattern-bars", "--frames", "5", "--size", "320x180",
                         "--screenshot", self.file("bars.png"))
        self.ends(stamped)
        self.ends(bars)
        unknown = self.view(f"{sender.address}/nothing")
        self.ends(unknown, harness.REFUSED)
        self.one_message(unknown, "'nothing'", "pattern-bars, pattern-stamped")
        self.check_bars(pictures.read_png(self.file("bars.png")))
        numbers = pictures.StampedRecording(self.file("stamped.rgba"), 64 * 36 * 4).sequences()
        self.assertEqual(len(numbers), 5)
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_statistics_have_the_documented_keys(self):
        sent, shown, _ = self.send_and_view("pattern", "--size", "64x36", "--frames", "10")
        common = {"frames_received", "frames_lost", "frames_torn", "seconds", "fps", "gigabytes_per_second",
                  "transport", "memory"}
        self.assertLessEqual(common | {"frames_produced", "frames_skipped", "frames_sent", "frames_aborted"}, set(sent))
        self.assertLessEqual(common | {"frames_shown", "frames_superseded", "latency_ms"}, set(shown))
        self.assertEqual(set(shown["latency_ms"]), {"p50", "p99", "max"})
        self.assertLessEqual(shown["latency_ms"]["p50"], shown["latency_ms"]["max"])


if __name__ == "__main__":
    harness.main()
