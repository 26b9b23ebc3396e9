"""framewire view with a layer gl:SCENE: the viewer draws it itself, in every layout, and starts no sender for it."""
import csv
import shutil

import harness
import pictures
from local_layers_test import is_near, png, senders_of
from windows import SCREEN, OnADisplay

RED, GREEN, BLUE, YELLOW = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)
COLOURS = {"red": RED, "green": GREEN, "blue": BLUE}
INPUT = """void mainImage(out vec4 c, in vec2 p) {
  bool isLeft = iMouse.z > 0.0 && iMouse.x < 0.5 * iResolution.x;
  c = vec4(isLeft, isKeyToggled(65), iMouse.z <= 0.0 && !isKeyToggled(65), 1.0);
}
"""


class WithScenes(harness.EndToEnd):
    def setUp(self):
        super().setUp()
        for name, colour in COLOURS.items():
            self.write_scene(name, f"vec4{(*colour, 255)} / 255.0")

    def write_scene(self, name: str, colour: str):
        self.file(f"{name}.frag").write_text(f"void mainImage(out vec4 c, in vec2 p) {{\n  c = {colour};\n}}\n")

    def view_alone(self, *arguments, **options) -> harness.Program:
        """With no framewire-send anywhere: who needs one fails."""
        folder = self.file("alone")
        if not folder.exists():
            folder.mkdir()
            shutil.copy(harness.BIN / "framewire-view", folder)
        environment = self.environment(PATH="/bin:/usr/bin", LD_LIBRARY_PATH=str(harness.BIN.parent / "lib"))
        return self.start(folder / "framewire-view", *arguments, "--headless", "--screenshot", "now.png",
                          environment=environment, **options)

    def picture_of(self, viewer: harness.Program) -> pictures.Picture:
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])
        return pictures.read_png(self.file("now.png"))

    def assert_colours(self, picture: pictures.Picture, places: dict, what: str):
        for (x, y), colour in places.items():
            self.assertTrue(is_near(picture.at(x, y), colour), (what, x, y, picture.at(x, y)))


class ShaderLayers(WithScenes):
    def test_in_every_layout_without_a_sender(self):
        left, right, below = (0.2, 0.6), (0.8, 0.4), (0.5, 0.9)
        for layout, size, places in (
                ("grid", "640x180", {left: RED, right: GREEN}), ("side", "640x180", {left: RED, right: GREEN}),
                ("stereo-side", "320x180", {left: RED, right: GREEN}),
                ("stereo-top", "320x180", {(0.9, 0.3): RED, below: GREEN}),
                ("pip", "320x180", {left: RED, (0.9, 0.85): GREEN}),
                ("overlay", "320x180", {left: GREEN, right: GREEN})):
            viewer = self.view_alone("--layer", "gl:red.frag", "--layer", "gl:green.frag", "--layout", layout, "--size",
                                     size, "--frames", "3")
            self.assert_colours(self.picture_of(viewer), places, layout)
        viewer = self.view_alone("--layer", "gl:blue.frag", "--size", "320x180", "--frames", "3")
        self.assert_colours(self.picture_of(viewer), {left: BLUE, right: BLUE}, "alone")
        viewer = self.view_alone("--layer", "gl:red.frag", "--layer", "gl:green.frag", "--layout", "side", "--wall",
                                 "2x1@1,0", "--size", "320x180", "--frames", "3")
        self.assert_colours(self.picture_of(viewer), {(0.5, 0.6): GREEN}, "wall")
        self.file("scenes").mkdir()
        self.file("red.frag").rename(self.file("scenes/red.frag"))
        self.file("scenes/free.toml").write_text(
            "canvas = '200x100'\n[[layer]]\nlocal = 'gl:red.frag'\nat = [100, 0]\nsize = [100, 100]\nfit = 'fill'\n"
            "options = ['--size=64x36', '--fps', '20']\n")
        viewer = self.view_alone("--scene", "scenes/free.toml", "--size", "200x100", "--frames", "3")
        self.assert_colours(self.picture_of(viewer), {(0.25, 0.9): (0, 0, 0), (0.75, 0.9): RED}, "free")

    def test_its_first_picture_is_that_of_a_sender(self):
        picture = self.picture_of(self.view_alone("--layer", "gl:orbit", "--size", "320x180", "--frames", "1"))
        sender = self.send_on("gl:orbit", "--size", "320x180", "--frames", "1")
        viewer = self.view(sender.address, "--size", "320x180", "--screenshot", "sent.png")
        self.ends(viewer)
        sent = pictures.read_png(self.file("sent.png"))
        self.assertEqual(pictures.read_counter(picture), 0)
        self.assertTrue(picture.pixels == sent.pixels, "the viewer draws another picture than the sender")

    def test_its_rows_of_the_statistics(self):
        sender = self.send_on("pattern", "--size", "64x36", "--fps", "20")
        self.file("scene.toml").write_text(
            f"layout = 'side'\n[[layer]]\nsource = '{sender.address}'\n"
            "[[layer]]\nlocal = 'gl:red.frag'\noptions = ['--size', '64x36', '--fps', '20']\n")
        viewer = self.view("--scene", "scene.toml", "--frames", "10", "--frame-times", "times.csv")
        self.ends(viewer)
        received, drawn = self.read_stats(viewer.stats_file)["streams"]
        self.assertEqual(received["frames_received"], 10)
        self.assertEqual((drawn["source"], drawn["format"]), ("gl:red.frag", "64x36 rgb0 20 fps"))
        self.assertEqual((drawn["frames_received"], drawn["frames_shown"] + drawn["frames_superseded"]), (10, 10))
        self.assertEqual((drawn["bytes_received"], drawn["transport"], drawn["memory"]), (0, None, None))
        self.assertGreater(drawn["latency_ms"]["p50"], 0)
        self.assertIsNone(drawn["stage_latency_ms"]["wire"])
        with self.file("times.csv").open() as file:
            rows = [row for row in csv.DictReader(file) if row["stream"] == "2"]
        self.assertEqual([int(row["sequence"]) for row in rows], list(range(10)))
        self.assertTrue(all(int(row["pts_ns"]) % 50_000_000 == 0 for row in rows), rows)

    def test_one_that_is_hidden_is_not_drawn(self):
        self.file("scene.toml").write_text(
            "layout = 'side'\n[[layer]]\nlocal = 'gl:red.frag'\n[[layer]]\nlocal = 'gl:green.frag'\nhidden = true\n"
            "[[layer]]\nlocal = 'gl:blue.frag'\nopacity = 0\n")
        viewer = self.view("--scene", "scene.toml", "--frames", "5")
        self.ends(viewer)
        counts = [stream["frames_received"] for stream in self.read_stats(viewer.stats_file)["streams"]]
        self.assertEqual(counts, [5, 0, 0])

    def test_a_shader_that_does_not_compile_until_it_is_mended(self):
        self.file("red.png").write_bytes(png(RED))
        self.write_scene("green", "vec4(wrong)")
        viewer = self.view("--layer", "red.png", "--layer", "gl:green.frag", "--layout", "side", "--size", "640x180",
                           "--frames", "3", "--screenshot", "now.png")
        viewer.wait_line("^framewire-view: warning: gl:green.frag: the fragment shader 'green.frag' does not compile")
        viewer.wait_line(r"^  green\.frag:2: .*wrong")
        self.write_scene("green", "vec4(0, 1, 0, 1)")
        self.ends(viewer)
        self.assertEqual(len(viewer.complaints()), 1, viewer.text)
        self.assert_colours(pictures.read_png(self.file("now.png")), {(0.25, 0.5): RED, (0.75, 0.6): GREEN}, "mended")

    def test_while_it_does_not_compile_a_placeholder_says_so(self):
        sender = self.send_on("pattern", "--size", "64x36", "--fps", "20")
        self.write_scene("green", "vec4(wrong)")
        self.file("scene.toml").write_text(f"layout = 'side'\n[[layer]]\nsource = '{sender.address}'\n"
                                           "[[layer]]\nlocal = 'gl:green.frag'\n")
        viewer = self.view("--scene", "scene.toml", "--size", "640x180", "--screenshot", "now.png", terminal=True)
        viewer.wait_line("warning: gl:green.frag: ")
        viewer.wait_line("shown [1-9]")
        viewer.interrupt()
        self.ends(viewer, harness.FAILED)
        picture = pictures.read_png(self.file("now.png"))
        right = {picture.at(0.5 + x / 64, y / 32) for x in range(1, 31) for y in range(1, 31)}
        self.assertGreater(len(right), 1, "there is a text")
        self.assertGreater(self.read_stats(viewer.stats_file)["streams"][0]["frames_shown"], 0)

    def test_a_name_that_means_nothing(self):
        viewer = self.view("--layer", "gl:nothing")
        self.ends(viewer, harness.USAGE)
        self.one_message(viewer, "warning: gl:nothing: there is no scene 'nothing'; there are")

    def test_what_needs_a_sender_gets_one(self):
        self.file("scene.toml").write_text(
            "[[layer]]\nlocal = 'gl:red.frag'\noptions = ['--size=64x36', '--pix-fmt', 'nv12']\n")
        viewer = self.view("--scene", "scene.toml", "--verbose")
        harness.wait_until(lambda: "gl:red.frag" in senders_of(viewer), "a sender")
        viewer.wait_line("transport=local")
        viewer.interrupt()
        self.ends(viewer)
        viewer = self.view("--layer", "gl:red.frag", "--output", "red.rgba", "--frames", "2", "--size", "64x36")
        self.ends(viewer)
        self.assertEqual(self.file("red.rgba").stat().st_size, 2 * 64 * 36 * 4)
        self.assertEqual(self.stats(viewer)["transport"], "local")

    def test_the_picture_of_several_is_recorded(self):
        viewer = self.view_alone("--layer", "gl:red.frag", "--layer", "gl:green.frag", "--layout", "side", "--size",
                                 "320x90", "--frames", "5", "--output", self.file("both.rgba"))
        self.picture_of(viewer)
        recorded = self.file("both.rgba").read_bytes()
        frame_bytes = 320 * 90 * 4
        self.assertGreater(len(recorded), 0)
        self.assertEqual(len(recorded) % frame_bytes, 0)
        last = pictures.Picture(320, 90, 4, recorded[-frame_bytes:])
        self.assert_colours(last, {(0.25, 0.6): RED, (0.75, 0.6): GREEN}, "recording")

    def test_a_scene_file_that_changes(self):
        def write(*layers: str):
            self.file("new.toml").write_text("layout = 'side'\n" + "".join(f"[[layer]]\n{layer}\n" for layer in layers))
            self.file("new.toml").rename(self.file("scene.toml"))
        write("local = 'gl:red.frag'", "local = 'gl:green.frag'")
        viewer = self.view("--scene", "scene.toml", "--size", "640x180", "--verbose")
        viewer.wait_line("^headless 640x180")  # it has read the file
        write("local = 'gl:green.frag'", "local = 'gl:blue.frag'\noptions = ['--size=64x36']")
        viewer.wait_line("the scene in .* has changed")
        viewer.wait_line("^gl:red.frag: gl:red.frag is no longer part of the scene|^gl:red.frag is no longer part")
        viewer.interrupt()
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])
        counts = {stream["source"]: stream for stream in self.read_stats(viewer.stats_file)["streams"]}
        self.assertEqual(set(counts), {"gl:green.frag", "gl:blue.frag"})


class InputOfShaderLayers(WithScenes, OnADisplay):
    def test_the_mouse_and_the_keys_reach_it(self):
        self.file("input.frag").write_text(INPUT)
        viewer = self.open_window("--layer", "gl:input.frag", "--size", "640x360", "--input")
        self.assertEqual(senders_of(viewer), {})

        def await_colour(colour: tuple, what: str):
            harness.wait_until(lambda: is_near(self.screen().at(320 / SCREEN[0], 330 / SCREEN[1]), colour), what)
        await_colour(BLUE, "the scene without input")
        self.tool("xdotool", "mousemove", 100, 180, "mousedown", 1)
        await_colour(RED, "the button")
        self.press("a")
        await_colour(YELLOW, "the key")
        self.tool("xdotool", "mouseup", 1)
        await_colour(GREEN, "the button's release")
        self.press("Control_R")
        self.press("q")
        self.ends(viewer)
        stats = self.stats(viewer)
        self.assertGreater(stats["input_events_sent"], 0)
        self.assertEqual(stats["input_events_lost"], 0)


if __name__ == "__main__":
    harness.main()
