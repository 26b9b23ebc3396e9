"""Parts of one scene from several senders, merged by depth into one picture."""
import os
import re
import signal
import subprocess

import harness
import pictures
from windows import SCREEN, OnADisplay

WIDTH, HEIGHT = 320, 180
SIZE = f"{WIDTH}x{HEIGHT}"
DEPTH = ("--pix-fmt", "rgba+grayf32le")
ALL_PARTS = "1,2,3"
# Balls that cut into each other: red is part 1, green part 2, blue part 3. Nothing moves.
BALLS = """
float ball(vec3 along, vec3 centre) {
  vec3 from = iEye - centre;
  float b = dot(from, along);
  float h = b * b - dot(from, from) + 0.49;
  return h < 0.0 ? noDepth : -b - sqrt(h);
}
void take(inout vec4 colour, inout float depth, vec3 along, vec3 centre, vec3 paint) {
  float other = ball(along, centre);
  if (other > 0.0 && other < depth) {
    depth = other;
    colour = vec4(paint * (0.8 + 0.2 * normalize(iEye + other * along - centre).y), 1.0);
  }
}
void mainImageDepth(out vec4 fragColor, out float fragDepth, in vec2 fragCoord) {
  vec3 along = eyeRay(fragCoord);
  fragColor = vec4(0.1, 0.1, 0.1, 1.0);
  fragDepth = noDepth;
  if (hasPart(1)) take(fragColor, fragDepth, along, vec3(-0.4, 0.0, 0.0), vec3(1.0, 0.1, 0.1));
  if (hasPart(2)) take(fragColor, fragDepth, along, vec3(0.4, 0.0, 0.1), vec3(0.1, 1.0, 0.1));
  if (hasPart(3)) take(fragColor, fragDepth, along, vec3(0.0, 0.5, -0.1), vec3(0.1, 0.1, 1.0));
}
"""
LEFT_OUT = "it does not deliver what the others do"
RED, GREEN, BLUE = range(3)  # of a pixel's components


def plane(colour: str) -> str:
    """A scene that is everywhere equally far away."""
    return ("void mainImageDepth(out vec4 fragColor, out float fragDepth, in vec2 fragCoord) "
            f"{{ fragColor = vec4({colour}, 1.0); fragDepth = 2.0; }}")


def has_ball(picture: pictures.Picture, component: int) -> bool:
    """Whether the picture has some tens of pixels of a ball's colour."""
    channels = [picture.pixels[i::picture.channels] for i in range(3)]
    others = [channels[i] for i in range(3) if i != component]
    return sum(own > 120 and max(rest) < 60 for own, *rest in zip(channels[component], *others)) > 50


class DepthTest(harness.EndToEnd):
    def setUp(self):
        super().setUp()
        self.file("balls.frag").write_text(BALLS)

    def send_part(self, parts: str, *options, **more) -> harness.Program:
        return self.send_on(f"gl:balls.frag:{parts}", *DEPTH, "--size", SIZE, *options, **more)

    def merge(self, *arguments, layout=("--layout", "depth"), **options) -> harness.Program:
        """Starts a viewer that leaves its last picture in viewer.picture_file."""
        picture = self.file(f"picture-{len(self.programs)}.png")
        viewer = self.view(*arguments, *layout, "--size", SIZE, "--screenshot", picture, "--verbose",
                           terminal=True, **options)
        viewer.picture_file = picture
        return viewer

    def wait_whole(self, viewer: harness.Program, *senders: harness.Program, after: int = 0):
        """Until sets have been shown to which each of these senders belongs."""
        for sender in senders:
            viewer.wait_line(f"^(?:{re.escape(sender.address)}: )?the stream's pictures", after=after)
        self.wait_more(viewer, 6 * len(senders))

    @staticmethod
    def wait_more(viewer: harness.Program, frames: int):
        """Until so many more frames were shown. The live line counts those of all streams."""
        def shown(after: int) -> int:
            return int(viewer.wait_line(r" shown (\d+)", after=after).group(1))
        first = shown(len(viewer.lines))
        harness.wait_until(lambda: shown(len(viewer.lines)) >= first + frames, "more sets")

    def picture_of(self, viewer: harness.Program) -> pictures.Picture:
        viewer.interrupt()
        self.ends(viewer)
        return pictures.read_png(viewer.picture_file)

    def merge_and_record(self, *arguments, **options) -> harness.Program:
        """As merge(), of several sources. Its pictures are also in viewer.film."""
        film = self.file(f"film-{len(self.programs)}.rgba")
        viewer = self.merge(*arguments, "--output", film, "--output-fps", "10", **options)
        viewer.film = pictures.RecordedPictures(film, WIDTH, HEIGHT)
        return viewer

    @staticmethod
    def rgb(picture: pictures.Picture) -> bytes:
        if picture.channels == 3:
            return picture.pixels
        return b"".join(picture.pixels[i:i + 3] for i in range(0, len(picture.pixels), picture.channels))

    @staticmethod
    def wait_film(viewer: harness.Program, is_wanted, what: str):
        """Until its newest recorded picture is as wanted. A busy machine stops a sender, which is left out then."""
        harness.wait_until(lambda: (newest := viewer.film.newest()) is not None and is_wanted(newest), what)

    def wait_merged(self, viewer: harness.Program, wanted: pictures.Picture):
        pixels = self.rgb(wanted)
        self.wait_film(viewer, lambda newest: self.rgb(newest) == pixels, "the merged picture")

    @staticmethod
    def complaints(viewer: harness.Program) -> list[str]:
        """Without those about a sender that a busy machine has stopped."""
        return [line for line in viewer.complaints() if LEFT_OUT not in line]

    _whole = None

    def whole(self) -> pictures.Picture:
        """The picture of one sender that renders all parts."""
        if DepthTest._whole is None:
            sender = self.send_part(ALL_PARTS)
            viewer = self.merge(sender.address)
            self.wait_whole(viewer, sender)
            whole = self.picture_of(viewer)
            for component in (RED, GREEN, BLUE):
                self.assertTrue(has_ball(whole, component), component)
            sender.interrupt()
            self.ends(sender)
            DepthTest._whole = whole
        return DepthTest._whole

    def sets(self, viewer: harness.Program) -> tuple[int, int]:
        stats = self.read_stats(viewer.stats_file)
        return stats["sets_shown"], stats["sets_missed"]


class Depth(DepthTest):
    def test_frames_counts_merged_pictures(self):
        """Also if a sender's own frames, which nobody asked for, came before, and if one never sends any."""
        senders = [self.send_part(part) for part in "12"]
        for is_paused in (False, True):
            with self.subTest(is_paused=is_paused):
                if is_paused:
                    senders[1].pause()
                viewer = self.merge(*(sender.address for sender in senders), "--frames", "10")
                self.ends(viewer)
                self.assertEqual(self.sets(viewer)[0], 10)
        senders[1].go_on()

    def test_the_picture_is_that_of_one_sender_of_all_parts(self):
        whole = self.whole()
        for link in ("local", "tcp"):
            with self.subTest(link):
                senders = [self.send_part(part) for part in "12"]
                viewer = self.merge_and_record(*(sender.address for sender in senders), "--layer", "gl:balls.frag:3",
                                               "--transport", link)
                self.wait_whole(viewer, *senders)
                self.wait_merged(viewer, whole)
                self.picture_of(viewer)
                self.assertEqual(self.complaints(viewer), [])
                self.assertEqual(viewer.text.count(f"transport={link} "), 2)
                shown, _ = self.sets(viewer)
                frames = [stream["frames_shown"] for stream in self.read_stats(viewer.stats_file)["streams"]]
                self.assertEqual(max(frames), shown, "the first sets may be of one sender")
                self.assertGreater(min(frames), 0)

    def test_what_a_scene_file_says_of_a_layer_means_nothing(self):
        """Above all, a first layer that is hidden hides nothing."""
        whole = self.whole()
        senders = [self.send_part("1,3"), self.send_part("2")]
        keys = ("hidden = true\ncrop = [0, 0, 16, 9]", "opacity = 0\nfit = 'fill'")
        self.file("scene.toml").write_text("layout = 'depth'\n" + "".join(
            f"[[layer]]\nsource = '{sender.address}'\n{key}\n" for sender, key in zip(senders, keys)))
        viewer = self.merge_and_record("--scene", "scene.toml", layout=())
        self.wait_whole(viewer, *senders)
        self.wait_merged(viewer, whole)
        self.picture_of(viewer)

    def test_at_the_same_depth_the_earlier_source_wins(self):
        for name, colour in (("red", "1, 0, 0"), ("green", "0, 1, 0"), ("blue", "0, 0, 1")):
            self.file(f"{name}.frag").write_text(plane(colour))
        red, green = (self.send_on(f"gl:{name}.frag", *DEPTH, "--size", SIZE) for name in ("red", "green"))
        for first, second, wanted in ((red, green, (255, 0, 0)), (green, red, (0, 255, 0))):
            viewer = self.merge_and_record("--layer", "gl:blue.frag", first.address, second.address)
            self.wait_whole(viewer, first, second)
            self.wait_film(viewer, lambda newest: newest.colours() == 1 and newest.at(0.5, 0.5) == wanted,
                           f"a picture of {wanted}")
            self.picture_of(viewer)

    def test_streams_that_do_not_fit_leave_the_others_alone(self):
        whole = self.whole()
        senders = [self.send_part("1"), self.send_part("2")]
        plain = self.send_on("gl:balls.frag:3", "--size", SIZE)
        small = self.send_on("gl:balls.frag:3", *DEPTH, "--size", "160x90")
        bars = self.send_on("pattern", "--size", SIZE, "--fps", "20")
        viewer = self.merge_and_record(senders[0].address, plain.address, senders[1].address, small.address,
                                       bars.address, "--layer", "gl:balls.frag:3")
        no_depth = (": its frames of rgba have no depth; a sender of gl: gives it with --pix-fmt rgba\\+grayf32le, "
                    "films have none")
        for sender, why in ((plain, no_depth), (bars, no_depth),
                            (small, f": its frames are 160x90, and those of the others are {SIZE}; ")):
            viewer.wait_line(f"^framewire-view: warning: {sender.address}{why}")
        self.wait_whole(viewer, *senders)
        self.wait_merged(viewer, whole)
        self.picture_of(viewer)
        self.assertEqual(len(self.complaints(viewer)), 3, viewer.text)
        streams = self.read_stats(viewer.stats_file)["streams"]
        for sender, stream in zip((senders[0], plain, senders[1], small, bars), streams):
            self.assertGreater(stream["frames_received"], 0, stream)
            self.assertEqual(stream["frames_shown"] > 0, sender in senders, stream)

    def test_a_stream_that_is_never_rendered_on_request_leaves_the_others_alone(self):
        whole = self.whole()
        senders = [self.send_part("1"), self.send_part("2")]
        raw = self.file("frames.raw")
        raw.write_bytes(bytes(3 * 8 * WIDTH * HEIGHT))
        frames = subprocess.Popen(["tail", "--bytes=+1", "--follow", raw], stdout=subprocess.PIPE)
        self.addCleanup(frames.communicate)
        self.addCleanup(frames.kill)
        never = self.send_on("-", *DEPTH, "--size", SIZE, stdin=frames.stdout)
        viewer = self.merge_and_record(never.address, *(sender.address for sender in senders), "--layer",
                                       "gl:balls.frag:3")
        viewer.wait_line(f"^framewire-view: warning: {never.address}: this source does not render on request")
        self.wait_whole(viewer, *senders)
        self.wait_merged(viewer, whole)
        self.picture_of(viewer)
        self.assertEqual(len(self.complaints(viewer)), 1, viewer.text)

    def test_a_sender_that_is_stopped_is_left_out_until_it_goes_on(self):
        senders = [self.send_part(part) for part in "12"]
        whole = self.whole()
        viewer = self.merge_and_record(*(sender.address for sender in senders), "--layer", "gl:balls.frag:3")
        self.wait_merged(viewer, whole)
        os.kill(senders[1].process.pid, signal.SIGSTOP)
        warning = f"framewire-view: warning: {senders[1].address}: {LEFT_OUT}"
        viewer.wait_line(f"^{warning}")
        self.wait_film(viewer, lambda newest: not has_ball(newest, GREEN) and has_ball(newest, RED), "the others alone")
        self.wait_more(viewer, 20)
        os.kill(senders[1].process.pid, signal.SIGCONT)
        self.wait_merged(viewer, whole)
        self.picture_of(viewer)
        self.assertEqual(sum(line.startswith(warning) for line in viewer.lines), 1, viewer.text)
        self.assertEqual(self.complaints(viewer), [])

    def test_a_screenshot_of_nothing_is_a_failure(self):
        plain = self.send_on("gl:balls.frag:3", "--size", SIZE)
        viewer = self.view(plain.address, "--layout", "depth", "--screenshot", "none.png")
        viewer.wait_line("have no depth")
        viewer.interrupt()
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "no frame was shown, so there is no none.png", beside=": warning: ")
        self.assertFalse(self.file("none.png").exists())

    def test_a_ring_of_one_slot_is_enough(self):
        senders = [self.send_part(part, "--slots", "1") for part in "12"]
        whole = self.whole()
        viewer = self.merge_and_record(*(sender.address for sender in senders), "--layer", "gl:balls.frag:3")
        self.wait_whole(viewer, *senders)
        self.wait_merged(viewer, whole)
        self.picture_of(viewer)

    def test_two_viewers_that_start_at_once(self):
        """Each may get the camera of one sender, and then draws lots."""
        whole = self.whole()
        senders = [self.send_part(part) for part in "12"]
        addresses = [sender.address for sender in senders]
        viewers = [self.merge_and_record(*order, "--layer", "gl:balls.frag:3")
                   for order in (addresses, addresses[::-1])]
        for viewer in viewers:
            self.wait_whole(viewer, *senders)
        for viewer in viewers:
            self.wait_merged(viewer, whole)
            self.picture_of(viewer)

    def test_when_the_owner_of_the_camera_leaves_another_goes_on(self):
        whole = self.whole()
        senders = [self.send_part(part) for part in "12"]
        arguments = [*(sender.address for sender in senders), "--layer", "gl:balls.frag:3"]
        owner = self.merge_and_record(*arguments)
        self.wait_whole(owner, *senders)
        watcher = self.merge(*arguments)
        watcher.wait_line("^framewire-view: warning: .* does not take this viewer's camera: another viewer moves the")
        self.wait_whole(watcher, *senders)
        self.wait_merged(owner, whole)
        self.picture_of(owner)
        self.wait_more(watcher, 20)
        second = self.merge_and_record(*arguments)
        self.wait_whole(second, *senders)
        watcher.kill()
        self.wait_more(second, 20)
        self.wait_merged(second, whole)
        self.picture_of(second)

    def test_what_is_wrong_is_said_in_one_sentence(self):
        sender = self.send_part("1")
        self.file("words.txt").write_text("no picture")
        view = ("view", sender.address, "--layout", "depth", "--headless", "--size", SIZE)
        send = ("send", "--listen", "127.0.0.1:0", "--size", SIZE)
        for command, wanted in (
                (("view", "--layout", "depth", "--headless", "--layer", "gl:helix:3"), "name at least one HOST"),
                ((*view, "--layer", "gl:waves"), "'gl:waves' has no depth"),
                ((*view, "--layer", "gl:helix:0"), "a part of 'gl:helix:0' is '0'; it takes .* from 1 to 32"),
                ((*view, "--layer", "gl:helix:33"), "a part of 'gl:helix:33' is '33'"),
                ((*view, "--layer", "gl:helix:1,"), "a part of 'gl:helix:1,' is ''"),
                ((*send, "gl:helix:0"), "a part of 'gl:helix:0' is '0'; it takes .* from 1 to 32"),
                ((*send, "gl:helix:1,,2"), "a part of 'gl:helix:1,,2' is ''"),
                ((*send, "pattern", *DEPTH), "'pattern' has no depth"),
                ((*send, "gl:waves", *DEPTH), "'waves' has no depth.*mainImageDepth"),
                ((*send, "words.txt", *DEPTH), "'words.txt' has no depth")):
            with self.subTest(command):
                program = self.run_to_end(harness.BIN / f"framewire-{command[0]}", *command[1:])
                self.ends(program, harness.USAGE)
                self.one_message(program, wanted)

    def test_without_the_layout_a_stream_with_depth_is_a_picture(self):
        sender = self.send_part(ALL_PARTS)
        viewer = self.view(sender.address, "--size", SIZE, "--screenshot", "plain.png", "--frames", "5")
        self.ends(viewer)
        plain = pictures.read_png(self.file("plain.png"))
        for component in (RED, GREEN, BLUE):
            self.assertTrue(has_ball(plain, component), component)
        viewer = self.view(sender.address, "--output", self.file("colours.y4m"), "--frames", "3")
        self.ends(viewer)
        header, *_ = self.file("colours.y4m").read_bytes().partition(b"\n")
        self.assertIn(f" W{WIDTH} H{HEIGHT} ".encode(), header)
        frames = pictures.read_by_ffmpeg("-i", self.file("colours.y4m"), "-pix_fmt", "rgb24")
        self.assertEqual(len(frames) % (WIDTH * HEIGHT * 3), 0)
        self.assertGreaterEqual(len(frames), 3 * WIDTH * HEIGHT * 3)
        first = pictures.Picture(WIDTH, HEIGHT, 3, frames[:WIDTH * HEIGHT * 3])
        for component in (RED, GREEN, BLUE):
            self.assertTrue(has_ball(first, component), component)


class DepthInAWindow(OnADisplay, DepthTest):
    """The window is 320x180 at the upper left of the screen, so that one pixel of it is one of a frame."""

    def open_merged(self, *arguments, layout=("--layout", "depth")) -> harness.Program:
        return self.open_window(*arguments, *layout, "--size", SIZE, "--verbose")

    def shown(self) -> pictures.Picture:
        """What the window shows."""
        screen = self.screen()
        rows = [screen.pixels[3 * SCREEN[0] * y:3 * (SCREEN[0] * y + WIDTH)] for y in range(HEIGHT)]
        return pictures.Picture(WIDTH, HEIGHT, 3, b"".join(rows))

    def wait_balls(self, *components: int):
        """Until the window shows the balls of these colours, and no others."""
        harness.wait_until(lambda: {i for i in (RED, GREEN, BLUE) if has_ball(picture, i)} == set(components)
                           if (picture := self.shown()) else False, f"balls of the colours {components}")

    def wait_picture(self, is_wanted, what: str) -> pictures.Picture:
        def found():
            picture = self.shown()
            return picture if is_wanted(picture) else None
        return harness.wait_until(found, what)

    def wait_settled(self, is_wanted, what: str) -> pictures.Picture:
        """Until two pictures after each other are the same, and as wanted."""
        last = []

        def found():
            last.append(self.shown())
            return last[-1] if len(last) > 1 and last[-1].pixels == last[-2].pixels and is_wanted(last[-1]) else None
        return harness.wait_until(found, what)

    def drag(self, x: int, y: int, to_x: int, to_y: int):
        middle = ((x + to_x) // 2, (y + to_y) // 2)
        self.tool("xdotool", "mousemove", x, y, "mousedown", 1, "mousemove", *middle, "mousemove", to_x, to_y,
                  "mouseup", 1)

    def coverage(self, picture: pictures.Picture) -> int:
        """How many pixels are not of the background."""
        background = picture.pixels[:3]
        return sum(picture.pixels[i:i + 3] != background for i in range(0, len(picture.pixels), 3))

    def test_the_mouse_turns_it(self):
        whole = self.rgb(self.whole())
        senders = [self.send_part(part) for part in "12"]
        viewer = self.open_merged(*(sender.address for sender in senders), "--layer", "gl:balls.frag:3")
        first = self.wait_picture(lambda picture: picture.pixels == whole, "the whole picture")
        self.drag(100, 60, 200, 90)
        self.wait_settled(lambda picture: picture.pixels != whole, "the scene to turn")
        self.drag(200, 90, 100, 60)
        self.wait_picture(lambda picture: picture.pixels == whole, "the scene to turn back")
        self.tool("xdotool", "mousemove", 150, 90, "click", 4)
        self.wait_settled(lambda picture: self.coverage(picture) > 1.1 * self.coverage(first), "it to come nearer")
        self.press("Left")
        self.press("0")
        self.wait_picture(lambda picture: picture.pixels == whole, "the camera where it was")
        self.tool("xdotool", "click", 5)
        self.wait_settled(lambda picture: self.coverage(picture) < 0.9 * self.coverage(first), "it to go away")
        self.press("0")
        self.wait_picture(lambda picture: picture.pixels == whole, "the camera where it was")
        self.press("q")
        self.ends(viewer)
        self.assertEqual(self.complaints(viewer), [])

    def test_a_watcher_follows_the_owner_of_the_camera(self):
        """Its own part, too, is drawn from where the owner stands. When the owner is killed it looks for itself."""
        whole = self.whole()
        senders = [self.send_part(part) for part in "12"]
        arguments = [*(sender.address for sender in senders), "--layer", "gl:balls.frag:3"]
        owner = self.open_merged(*arguments)
        self.wait_picture(lambda picture: picture.pixels == self.rgb(whole), "the whole picture")
        watchers = [self.merge_and_record(*arguments) for _ in range(2)]
        self.drag(100, 60, 200, 90)
        self.wait_settled(lambda picture: picture.pixels != self.rgb(whole), "the scene to turn")
        for watcher in watchers:
            self.wait_whole(watcher, *senders)
            self.wait_film(watcher, lambda newest: self.rgb(newest) == self.shown().pixels, "what the owner sees")
        self.picture_of(watchers[0])
        owner.kill()
        self.wait_more(watchers[1], 20)
        self.wait_merged(watchers[1], whole)

    def test_a_window_that_is_minimised_gives_up_the_camera(self):
        senders = [self.send_part(part) for part in "12"]
        arguments = [*(sender.address for sender in senders), "--layer", "gl:balls.frag:3"]
        owner = self.open_merged(*arguments)
        self.wait_balls(RED, GREEN, BLUE)
        watcher = self.merge(*arguments)
        self.wait_whole(watcher, *senders)
        self.minimise_as_a_window_manager_does(True)
        self.wait_more(watcher, 100)
        self.minimise_as_a_window_manager_does(False)
        self.wait_balls(RED, GREEN, BLUE)
        self.picture_of(watcher)
        self.wait_more(owner, 20)
        self.press("q")
        self.ends(owner)

    def test_a_sender_that_is_killed_comes_back(self):
        whole = self.rgb(self.whole())
        port = harness.free_port()
        first, second = self.send_part("1"), self.send_part("2", listen=f"127.0.0.1:{port}")
        viewer = self.open_merged(first.address, second.address, "--layer", "gl:balls.frag:3")
        self.wait_picture(lambda picture: picture.pixels == whole, "the whole picture")
        second.kill()
        self.wait_balls(RED, BLUE)
        upper = slice(0, HEIGHT // 2 * WIDTH * 3)  # the notes are below
        still = self.wait_settled(lambda picture: has_ball(picture, RED) and has_ball(picture, BLUE), "two parts")
        self.drag(100, 60, 130, 60)
        self.wait_settled(lambda picture: picture.pixels[upper] != still.pixels[upper], "the others to turn")
        self.drag(130, 60, 100, 60)
        self.wait_settled(lambda picture: picture.pixels[upper] == still.pixels[upper], "the others to turn back")
        self.send_part("2", listen=f"127.0.0.1:{port}")
        self.wait_picture(lambda picture: picture.pixels == whole, "the whole picture again")
        self.assertTrue(viewer.is_running())
        self.press("q")
        self.ends(viewer)
        shown, missed = self.sets(viewer)
        self.assertGreater(shown, missed)
        self.assertEqual(self.complaints(viewer), [])

    def test_a_scene_file(self):
        senders = [self.send_part(part) for part in "12"]
        scene = self.file("scene.toml")

        def write(layout: str, local: str = "gl:balls.frag:3"):
            layers = "".join(f'[[layer]]\nsource = "{sender.address}"\n' for sender in senders)
            options = "" if layout == "depth" else 'options = ["--size", "64x36", "--fps", "10"]\n'
            layers += f'[[layer]]\nlocal = "{local}"\n{options}'
            scene.with_suffix(".new").write_text(f'layout = "{layout}"\n{layers}')
            scene.with_suffix(".new").rename(scene)

        write("depth")
        whole = self.rgb(self.whole())
        viewer = self.open_merged("--scene", scene, layout=())
        self.wait_picture(lambda picture: picture.pixels == whole, "the whole picture")
        write("grid")
        # The first stream has the upper left quarter for itself, the second one the upper right.
        self.wait_picture(lambda picture: self.quarters(picture) == [{RED}, {GREEN}, {BLUE}], "a grid")
        self.ends(self.view(senders[0].address, "--frames", "20"))  # nobody owns its camera: it renders unasked
        write("depth")
        self.wait_picture(lambda picture: picture.pixels == whole, "the whole picture again")
        write("depth", "gl:waves")
        viewer.wait_line("warning: .*'gl:waves' has no depth")
        self.wait_more(viewer, 10)
        write("depth")
        self.wait_picture(lambda picture: picture.pixels == whole, "the whole picture at the end")
        self.press("q")
        self.ends(viewer)
        self.assertEqual(len(self.complaints(viewer)), 1, viewer.text)

    @staticmethod
    def quarters(picture: pictures.Picture) -> list[set[int]]:
        """Which balls are in the first three quarters of a grid."""
        found = []
        for x, y in ((0, 0), (WIDTH // 2, 0), (0, HEIGHT // 2)):
            rows = [picture.pixels[3 * (WIDTH * row + x):3 * (WIDTH * row + x + WIDTH // 2)]
                    for row in range(y, y + HEIGHT // 2)]
            part = pictures.Picture(WIDTH // 2, HEIGHT // 2, 3, b"".join(rows))
            found.append({i for i in (RED, GREEN, BLUE) if has_ball(part, i)})
        return found


if __name__ == "__main__":
    harness.main()
