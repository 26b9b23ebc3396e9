"""Layers in the viewer's window, arranged with keys and mouse."""
import json
import re
import subprocess

import harness
from windows import SCREEN, OnADisplay

RED, BLUE, BLACK = "red", "blue", "black"
FRAME = "frame"  # of the selected layer
README = harness.REPOSITORY / "README.md"


class Arranging(OnADisplay):
    """Two streams of 320x180, one red and one blue, side by side in a window of 640x360: the red one at (0, 90)."""

    SIDE_BY_SIDE = {(20, 120): RED, (340, 120): BLUE, (20, 40): BLACK}

    def start_two(self, *options, shown=None) -> harness.Program:
        senders = [self.send_on(f"lavfi:color=c={colour}:size=320x180:rate=20", "--name", colour)
                   for colour in (RED, BLUE)]
        viewer = self.open_window(*(sender.address for sender in senders), "--size", "640x360", *options)
        self.wait_colours(shown or self.SIDE_BY_SIDE)
        return viewer

    def colour_at(self, picture, x: int, y: int) -> str:
        red, green, blue = picture.at((x + 0.5) / SCREEN[0], (y + 0.5) / SCREEN[1])
        names = {(True, False, False): RED, (False, False, True): BLUE, (False, False, False): BLACK,
                 (False, True, True): FRAME}
        return names.get((red > 140, green > 140, blue > 140), f"{red},{green},{blue}")

    def wait_colours(self, wanted: dict):
        """Waits until these pixels of the window have these colours. The frame of a layer is there only for a while
        after the last input, which may be over before the screen is seen: the pointer is moved until then."""
        seen = {}
        has_frame = FRAME in wanted.values()

        def are_there() -> bool:
            if has_frame:
                self.tool("xdotool", "mousemove_relative", 1, 0, "mousemove_relative", "--", -1, 0)
            picture = self.screen()
            seen.update({at: self.colour_at(picture, *at) for at in wanted})
            return seen == wanted

        try:
            harness.wait_until(are_there, "these colours")
        except AssertionError as error:
            raise AssertionError(f"{error}: wanted {wanted}, the screen has {seen}") from None

    def click(self, x: int, y: int):
        self.tool("xdotool", "mousemove", x, y, "click", 1)

    def drag(self, x: int, y: int, to_x: int, to_y: int, button: int = 1):
        middle = ((x + to_x) // 2, (y + to_y) // 2)
        self.tool("xdotool", "mousemove", x, y, "mousedown", button, "mousemove", *middle, "mousemove", to_x, to_y,
                  "mouseup", button)

    def quit(self, viewer: harness.Program):
        self.press("q")
        self.ends(viewer)

    def test_a_click_selects_and_the_frame_goes_by_itself(self):
        viewer = self.start_two()
        self.click(100, 150)
        self.wait_colours({(160, 90): FRAME, (0, 180): FRAME, (480, 90): BLUE})
        self.wait_colours({(160, 90): RED, (0, 180): RED})
        self.press("Tab")
        self.wait_colours({(480, 90): FRAME, (160, 90): RED})
        self.press("shift+Tab")
        self.wait_colours({(480, 90): BLUE, (160, 90): FRAME})
        self.click(100, 20)  # beside them
        self.wait_colours({(160, 90): RED})
        self.quit(viewer)

    def test_a_drag_moves_and_arrows_do(self):
        viewer = self.start_two()
        self.drag(100, 150, 140, 210)
        self.wait_colours({(38, 200): BLACK, (45, 200): RED, (200, 145): BLACK, (200, 155): RED, (200, 325): RED,
                           (330, 200): BLUE, (330, 300): RED})
        self.press("shift+Up")
        self.press("Right")
        self.wait_colours({(200, 138): BLACK, (200, 145): RED, (40, 200): BLACK, (44, 200): RED})
        self.press("0")
        self.wait_colours({(20, 120): RED, (340, 300): BLACK, (200, 300): BLACK})
        self.quit(viewer)

    def test_corners_and_edges_resize(self):
        viewer = self.start_two()
        self.click(100, 150)
        self.drag(318, 268, 158, 178)  # the lower right corner
        self.wait_colours({(154, 100): RED, (165, 100): BLACK, (100, 174): RED, (100, 185): BLACK})
        self.drag(158, 135, 78, 135)  # the right edge: the picture keeps its aspect
        self.wait_colours({(40, 135): RED, (40, 100): BLACK, (90, 135): BLACK})
        self.quit(viewer)

    def test_what_was_arranged_grows_with_the_window(self):
        viewer = self.start_two()
        self.drag(100, 150, 100, 70)
        self.wait_colours({(20, 20): RED, (20, 180): RED, (20, 200): BLACK})
        self.tool("xdotool", "windowsize", self.window, 1280, 720)
        self.wait_colours({(20, 25): RED, (620, 370): RED, (20, 390): BLACK, (660, 190): BLUE, (1270, 530): BLUE})
        self.quit(viewer)

    def test_m_hides_a_layer_and_its_frames_still_come(self):
        viewer = self.start_two()
        self.click(400, 150)
        self.press("m")
        # The other one has the window for itself, and the frame says where the hidden one will be.
        self.wait_colours({(20, 20): RED, (20, 340): RED, (321, 92): FRAME})
        self.wait_colours({(321, 92): RED, (600, 180): RED})
        self.press("m")
        self.wait_colours({(20, 20): BLACK, (20, 180): RED, (600, 180): BLUE})
        self.quit(viewer)
        received = [stream["frames_received"] for stream in json.loads(viewer.stats_file.read_text())["streams"]]
        self.assertGreater(min(received), 0.8 * max(received))

    def test_page_up_and_down_change_the_order(self):
        viewer = self.start_two()
        self.drag(100, 150, 260, 150)  # half of the red one is under the blue one
        self.wait_colours({(200, 180): RED, (400, 180): BLUE, (560, 180): BLUE})
        self.press("Page_Up")
        self.wait_colours({(400, 180): RED, (560, 180): BLUE})
        self.press("Page_Down")
        self.wait_colours({(400, 180): BLUE, (200, 180): RED})
        self.quit(viewer)

    def test_l_goes_through_the_layouts_and_0_returns(self):
        viewer = self.start_two()
        for wanted in ({(20, 20): BLACK, (20, 120): RED, (340, 120): BLUE},  # side
                       {(20, 20): RED, (20, 340): RED, (600, 340): BLUE, (600, 200): RED},  # pip
                       {(20, 20): BLUE, (620, 340): BLUE},  # overlay
                       {(20, 20): BLACK, (20, 120): RED, (340, 120): BLUE},  # grid
                       {(20, 20): BLACK, (20, 120): RED, (340, 120): BLUE},
                       {(20, 20): RED, (20, 340): RED, (600, 340): BLUE}):
            self.press("l")
            self.wait_colours(wanted)
        self.press("0")
        self.wait_colours({(20, 20): BLACK, (20, 120): RED, (340, 120): BLUE, (600, 300): BLACK})
        self.quit(viewer)

    def test_z_shows_a_layer_pixel_by_pixel(self):
        viewer = self.start_two("--layout", "pip", shown={(20, 20): RED, (600, 340): BLUE})
        self.press("Tab")
        self.press("z")  # 320x180 in the middle of 640x360
        self.wait_colours({(20, 20): BLACK, (150, 180): BLACK, (170, 180): RED, (470, 180): RED, (490, 180): BLACK,
                           (600, 340): BLUE})
        self.press("z")
        self.wait_colours({(20, 20): RED, (150, 180): RED})
        self.quit(viewer)

    def start_one(self) -> harness.Program:
        """960x540, red at the left and blue from 600 on, in 640x360: blue begins at 400."""
        graph = "color=c=blue:size=960x540:rate=20,drawbox=w=600:h=540:color=red:t=fill"
        viewer = self.open_window(self.send_on(f"lavfi:{graph}").address, "--size", "640x360")
        self.wait_colours(self.split_at(400))
        return viewer

    @staticmethod
    def split_at(x: int) -> dict:
        return {(2, 2): RED, (x - 3, 180): RED, (x + 3, 180): BLUE, (637, 357): BLUE}

    def test_clicks_and_keys_leave_a_stream_alone_as_it_is(self):
        viewer = self.start_one()
        before = self.screen().pixels
        self.click(100, 100)
        self.drag(100, 100, 300, 200)
        self.drag(300, 100, 100, 200, button=3)
        for key in ("Tab", "m", "l", "Right", "Page_Up", "Page_Down", "0"):
            self.press(key)
        # The statistics panel comes and goes after all of that: it has been taken in.
        self.press("h")
        harness.wait_until(lambda: self.screen().pixels != before, "the panel")
        self.press("h")
        harness.wait_until(lambda: self.screen().pixels == before, "the same picture")
        self.quit(viewer)

    def test_z_shows_a_stream_alone_pixel_by_pixel(self):
        viewer = self.start_one()
        self.press("z")
        self.wait_colours(self.split_at(600 - 160))
        self.drag(200, 200, 300, 220, button=3)
        self.wait_colours(self.split_at(600 - 160 + 100))
        self.press("shift+Right")
        self.wait_colours(self.split_at(600 - 160 + 90))
        self.press("z")
        self.wait_colours(self.split_at(400))
        self.quit(viewer)

    def test_the_file_of_a_scene_replaces_what_was_arranged(self):
        senders = {colour: self.send_on(f"lavfi:color=c={colour}:size=320x180:rate=20") for colour in (RED, BLUE)}
        scene = self.file("scene.toml")

        def write(layout: str):
            layers = "".join(f'[[layer]]\nsource = "{sender.address}"\n' for sender in senders.values())
            scene.with_suffix(".new").write_text(f'layout = "{layout}"\n{layers}')
            scene.with_suffix(".new").rename(scene)

        write("grid")
        viewer = self.open_window("--scene", scene, "--size", "640x360")
        self.wait_colours({(20, 120): RED, (340, 120): BLUE})
        self.drag(100, 150, 100, 70)
        self.wait_colours({(20, 20): RED, (20, 200): BLACK})
        write("pip")
        viewer.wait_line("the scene in .*scene.toml has changed, and replaces what was arranged in the window")
        self.wait_colours({(20, 20): RED, (20, 340): RED, (600, 340): BLUE})
        self.quit(viewer)

    def test_the_readme_lists_what_help_lists(self):
        text = subprocess.run([str(harness.BIN / "framewire-view"), "--help"], check=True, stdout=subprocess.PIPE,
                              timeout=harness.WATCHDOG_S, env=self.environment()).stdout.decode()
        listed = re.search(r"In the window:\n((?:  .*\n)+)", text).group(1)
        rows = [re.fullmatch(r"  (\S.*?)  +(\S.*)", line).groups() for line in listed.splitlines()]
        self.assertEqual(len(rows), 17, rows)
        readme = README.read_text(encoding="utf-8")
        self.assertEqual([names for names, does in rows if f"| {names} | {does} |" not in readme], [])


if __name__ == "__main__":
    harness.main()
