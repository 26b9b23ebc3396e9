"""Several streams in one picture: layouts, blends, walls, scene files, and layers whose sender is gone."""
import re
import signal

import harness
import pictures

SIZE = "160x90"
COLOURS = {"red": (255, 0, 0), "blue": (0, 0, 255), "white": (255, 255, 255), "gray": (128, 128, 128)}


def source(colour: str) -> str:
    """Frames of one colour, in real time; "green@0.5" is half transparent."""
    return f"lavfi:color=c={colour}:size=64x36:rate=20,format=rgba"


class Layers(harness.EndToEnd):
    def send_colours(self, *colours: str) -> harness.Program:
        """One sender of a stream for each colour."""
        names = [word for colour in colours for word in ("--name", re.sub("[^a-z]", "", colour))]
        return self.send_on(*map(source, colours), *names)

    def view_frames(self, *arguments, frames: int = 5) -> tuple[harness.Program, pictures.Picture]:
        """A viewer that ends once it has shown so many frames of every stream, and its last picture."""
        viewer = self.view(*arguments, "--screenshot", self.file("shot.png"), "--size", SIZE, "--frames", str(frames))
        self.ends(viewer)
        return viewer, pictures.read_png(self.file("shot.png"))

    def view_until_shown(self, *arguments, streams: int) -> harness.Program:
        """Starts a viewer, and returns once every stream is shown."""
        viewer = self.view(*arguments, "--screenshot", self.file("shot.png"), "--size", SIZE, terminal=True)
        self.wait_for_streams(viewer, streams)
        return viewer

    def wait_for_streams(self, viewer: harness.Program, streams: int):
        """More frames than the first of each stream are on their way: the live line counts those of all streams."""
        viewer.wait_line(r"fps · .* shown \d+")
        harness.wait_until(lambda: viewer.text.count("transport=") >= streams, "the first frame of each stream")
        seen = len(viewer.lines)
        viewer.wait_line(r"fps · ", after=seen)

    def picture_of(self, viewer: harness.Program) -> pictures.Picture:
        viewer.interrupt()
        self.ends(viewer)
        return pictures.read_png(self.file("shot.png"))

    def assert_colour(self, picture: pictures.Picture, x: float, y: float, wanted: tuple, tolerance: int = 1):
        found = picture.at(x, y)
        self.assertTrue(all(abs(a - b) <= tolerance for a, b in zip(found, wanted)),
                        f"{found}, not {wanted}, at {x}, {y}")

    def every_stream(self, viewer: harness.Program) -> list[dict]:
        streams = self.read_stats(viewer.stats_file)["streams"]
        for stream in streams:
            self.assertEqual(stream["frames_received"], stream["frames_shown"] + stream["frames_superseded"], stream)
        return streams

    def test_a_grid_has_a_cell_for_each_stream(self):
        sender = self.send_colours("red", "blue", "white", "gray")
        viewer, picture = self.view_frames(*(f"{sender.address}/{name}" for name in COLOURS))
        for name, x, y in (("red", 0.25, 0.25), ("blue", 0.75, 0.25), ("white", 0.25, 0.75), ("gray", 0.75, 0.75)):
            self.assert_colour(picture, x, y, COLOURS[name])
        streams = self.every_stream(viewer)
        self.assertEqual([stream["source"] for stream in streams], [f"{sender.address}/{name}" for name in COLOURS])
        self.assertTrue(all(stream["frames_shown"] > 0 for stream in streams), streams)
        self.assertIn(f"{sender.address}/red: transport=", viewer.text)

    def test_a_sender_without_a_stream_s_name_stands_for_all_of_them(self):
        sender = self.send_colours("red", "blue", "white")
        sources = [f"{sender.address}/{name}" for name in ("red", "blue", "white")]

        def view_all(frames: int):
            """None if the first stream had shown its frames before the viewer learned of the others."""
            viewer, picture = self.view_frames(sender.address, "--layout", "side", frames=frames)
            return (viewer, picture) if [one["source"] for one in self.every_stream(viewer)] == sources else None
        viewer, picture = harness.first_enough(view_all, 5, 50, 500)
        for name, x in (("red", 1 / 6), ("blue", 3 / 6), ("white", 5 / 6)):
            self.assert_colour(picture, x, 0.5, COLOURS[name])
        viewer.wait_line(f"^{sender.address}/red$")  # in the summary

    def test_streams_that_nobody_named_come_and_go_with_their_sender(self):
        port = harness.free_port()
        sender = self.send(source("red"), source("blue"), "--name", "red", "--name", "blue",
                           "--listen", f"127.0.0.1:{port}")
        viewer = self.view_until_shown(f"127.0.0.1:{port}", "--layout", "overlay", "--blend", "add", streams=2)
        sender.kill()
        sender = self.send(source("red"), "--name", "red", "--listen", f"127.0.0.1:{port}")
        viewer.wait_line("blue is no longer part of the scene")
        sender.kill()
        seen = len(viewer.lines)
        sender = self.send(source("red"), source("blue"), "--name", "red", "--name", "blue",
                           "--listen", f"127.0.0.1:{port}")
        viewer.wait_line("/blue: transport=", after=seen)
        shown = max(map(int, re.findall(r"shown (\d+)", viewer.text)))
        harness.wait_until(lambda: max(map(int, re.findall(r"shown (\d+)", viewer.text))) > shown + 40,
                           "frames of both streams")
        self.assert_colour(self.picture_of(viewer), 0.5, 0.5, (255, 0, 255), 2)

    def test_a_recording_is_of_the_first_stream(self):
        sender = self.send_colours("red", "blue")
        viewer = self.view(sender.address, "--output", self.file("red.rgba"), "--frames", "3")
        self.ends(viewer)
        self.assertEqual(self.stats(viewer)["frames_received"], 3)
        frames = pictures.Picture(64, 36 * 3, 4, self.file("red.rgba").read_bytes())
        for y in (0.1, 0.5, 0.9):
            self.assert_colour(frames, 0.5, y, COLOURS["red"], 2)

    def test_one_stream_lies_over_another_by_its_alpha(self):
        sender = self.send_colours("red", "blue@0.5")
        hosts = [f"{sender.address}/red", f"{sender.address}/blue"]
        for options, wanted in (([], (127, 0, 128)), (["--alpha", "opaque"], (0, 0, 255)),
                                (["--blend", "add", "--alpha", "opaque"], (255, 0, 255)),
                                (["--blend", "multiply", "--alpha", "opaque"], (0, 0, 0)),
                                (["--light", "linear"], (188, 0, 188))):
            with self.subTest(options):
                _, picture = self.view_frames(*hosts, "--layout", "overlay", *options)
                self.assert_colour(picture, 0.5, 0.5, wanted, 2)

    def test_screens_of_a_wall_show_their_parts(self):
        """Red on the left and blue on the right, in a canvas of two screens with 20 pixels hidden between them.

        The pictures are 160 pixels wide, in cells of 170.
        """
        sender = self.send_colours("red", "blue")
        hosts = [f"{sender.address}/red", f"{sender.address}/blue"]
        for screen, colour in (("0,0", "red"), ("1,0", "blue")):
            with self.subTest(screen):
                _, picture = self.view_frames(*hosts, "--layout", "side", "--wall", f"2x1@{screen}",
                                              "--bezel", "20x0")
                for x in (0.04, 0.5, 0.96):
                    self.assert_colour(picture, x, 0.5, COLOURS[colour])
                self.assert_colour(picture, 0.01 if screen == "0,0" else 0.99, 0.5, (0, 0, 0))

    def test_a_layer_without_a_sender_leaves_the_others_alone(self):
        port = harness.free_port()
        gone = self.send_colours("blue")
        viewer = self.view_until_shown(f"127.0.0.1:{port}/red", f"{gone.address}/blue", streams=1)  # the blue one
        self.send(source("red"), "--name", "red", "--listen", f"127.0.0.1:{port}")
        viewer.wait_line("/red: transport=")
        gone.kill()
        viewer.wait_line(r"/blue: .*(connection|gone)")
        shown = int(viewer.wait_line(r"shown (\d+)", after=len(viewer.lines)).group(1))
        harness.wait_until(lambda: max(map(int, re.findall(r"shown (\d+)", viewer.text))) > shown + 10,
                           "frames of the other stream")
        picture = self.picture_of(viewer)
        self.assert_colour(picture, 0.25, 0.5, COLOURS["red"])
        dimmed = picture.at(0.99, 0.5)
        self.assertGreater(dimmed[2], 30, "the last frame")
        self.assertLess(dimmed[2], 200, "is dimmed")

    def test_a_stopped_peer_delays_no_end(self):
        """Each goodbye may cost a second: so many one after the other take longer than this waits, on any machine."""
        names = "abcdefghijklmnopqrstuvwx"
        stopped = self.send_on(*["pattern"] * len(names), "--size", "64x36", "--fps", "5",
                               *(word for name in names for word in ("--name", name)))
        viewer = self.view_until_shown(stopped.address, self.send_colours("blue").address, streams=len(names) + 1)
        stopped.pause()
        viewer.interrupt()
        self.ends(viewer, seconds=len(names) - 4)
        self.assertEqual(len(self.every_stream(viewer)), len(names) + 1)

    def test_ends_when_every_stream_has_ended(self):
        short = self.send_on(source("red"), "--frames", "5")
        long = self.send_on(source("blue"), "--frames", "40")
        viewer = self.view(short.address, long.address)
        self.ends(viewer)
        self.ends(short)
        self.ends(long)
        counts = [stream["frames_received"] + stream["frames_skipped"] for stream in self.every_stream(viewer)]
        self.assertLessEqual(counts[0], 5)
        self.assertGreater(counts[1], 5, "it went on after the first had ended")

    def test_a_stream_that_never_comes_is_said_at_the_end(self):
        """The first such stream: the time may be over before any other one has come."""
        sender = self.send_colours("red")
        nobody = f"127.0.0.1:{self.refusing_port()}"
        viewer = self.view(nobody, sender.address, "--duration", "1s")
        self.ends(viewer, harness.LOST)
        self.one_message(viewer, re.escape(nobody), "no sender came before --duration was over")

    def test_a_stream_that_is_given_up_leaves_the_others_alone(self):
        sender = self.send_colours("red")
        nobody = f"127.0.0.1:{self.refusing_port()}"
        viewer = self.view(sender.address, nobody, "--retry", "1s", terminal=True)
        viewer.wait_line("^framewire-view: ")
        viewer.wait_line("shown [1-9]", after=len(viewer.lines))
        viewer.interrupt()
        self.ends(viewer, harness.LOST)
        self.one_message(viewer, re.escape(nobody), "no sender came before --retry was over|nothing listens")
        self.assertGreater(self.every_stream(viewer)[0]["frames_shown"], 0)

    def test_a_refused_stream_leaves_the_others_alone(self):
        sender = self.send_colours("red")
        viewer = self.view(f"{sender.address}/red", f"{sender.address}/nothing", "--frames", "20")
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, "nothing", "it has red")
        self.assertEqual(self.every_stream(viewer)[0]["frames_received"], 20)

    def test_a_scene_file_is_followed(self):
        sender = self.send_colours("red", "blue", "white")
        scene = self.file("scene.toml")
        red, blue, white = (f'[[layer]]\nsource = "{sender.address}/{name}"\n' for name in ("red", "blue", "white"))
        scene.write_text(f"{red}at = [0, 0]\nsize = [80, 90]\n"
                         f"{blue}at = [80, 0]\nsize = [80, 90]\nfit = 'fill'\n")
        film = self.file("film.rgba")
        viewer = self.view_until_shown("--scene", scene, "--output", film, streams=2)
        scene.write_text("layout = 'sideways'\n" + red)
        viewer.wait_line(r"scene\.toml:1:\d+: .*'sideways'.*the scene stays as it was")
        scene.write_text("canvas = '160x90'\n" + red + "at = [0, 0]\nsize = [80, 90]\nfit = 'cover'\n" +
                         white + "at = [80, 0]\nsize = [80, 45]\nfit = 'fill'\n")
        viewer.wait_line(r"blue is no longer part of the scene: frames +\d+ received")
        viewer.wait_line(r"/white: transport=")
        recorded = pictures.RecordedPictures(film, *map(int, SIZE.split("x")))
        harness.wait_until(lambda: (newest := recorded.newest()) is not None and min(newest.at(0.75, 0.25)) == 255,
                           "the white stream")
        picture = self.picture_of(viewer)
        self.assert_colour(picture, 0.25, 0.02, COLOURS["red"])
        self.assert_colour(picture, 0.75, 0.25, COLOURS["white"])
        self.assert_colour(picture, 0.75, 0.75, (0, 0, 0))
        names = [stream["source"].rpartition("/")[2] for stream in self.every_stream(viewer)]
        self.assertEqual(names, ["red", "white"])
        sender.interrupt()
        self.ends(sender)
        kept = [session for session in self.stats(sender)["sessions"] if session.get("stream", "red") == "red"]
        self.assertTrue(all(session["said_bye"] for session in kept), kept)

    def test_a_stereo_layout_says_once_that_it_is_for_two_streams(self):
        for names, wanted in ((("red",), "stereo-side is for two streams, .* there is one"),
                              (("red", "blue"), None),
                              (("red", "blue", "white"), "stereo-side shows two streams, .* there are 3")):
            with self.subTest(names):
                sender = self.send_colours(*names)
                viewer = self.view_until_shown(sender.address, "--layout", "stereo-side", streams=len(names))
                self.picture_of(viewer)
                if wanted:
                    self.one_message(viewer, f"warning: the layout {wanted}")
                else:
                    self.assertEqual(viewer.complaints(), [])

    def test_a_scene_file_that_comes_to_contradict_an_option(self):
        scene = self.file("scene.toml")
        sender = self.send_colours("red")
        layer = f'[[layer]]\nsource = "{sender.address}/red"\n'
        scene.write_text("layout = 'depth'\n" + layer)
        viewer = self.view("--scene", scene, "--sync")
        self.ends(viewer, harness.USAGE)
        self.one_message(viewer, "the layout depth .* --sync means nothing; leave out one of them")
        scene.write_text(layer)
        viewer = self.view_until_shown("--scene", scene, "--paced", streams=1)
        for layout in ("depth", "grid", "depth"):
            seen = len(viewer.lines)
            scene.write_text(f"layout = '{layout}'\n" + layer)
            viewer.wait_line("the scene in .* has changed", after=seen)
        self.picture_of(viewer)
        self.assertEqual(sum("--paced means nothing" in line for line in viewer.complaints()), 1, viewer.text)

    def test_a_mistake_in_a_scene_file_at_the_start(self):
        scene = self.file("scene.toml")
        scene.write_text('[[layer]]\nsource = "box"\nopacity = 2\n')
        viewer = self.view("--scene", scene)
        self.ends(viewer, harness.USAGE)
        self.one_message(viewer, r"scene\.toml:3:\d+: ", "opacity")

    def test_a_killed_viewer_ends_every_session(self):
        sender = self.send_colours("red", "blue")
        viewer = self.view_until_shown(f"{sender.address}/red", f"{sender.address}/blue", streams=2)
        viewer.signal(signal.SIGKILL)
        viewer.wait_end()
        sender.wait_line(r"^viewer .* \((local|tcp)\): ")
        sender.interrupt()
        self.ends(sender)


if __name__ == "__main__":
    harness.main()
