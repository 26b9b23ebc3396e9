"""scripts/demo depth in a window: its picture, the mouse, and that Ctrl-C leaves no program behind."""
import os
import re
import signal

import harness
from windows import SCREEN, OnADisplay

WINDOW = (1280, 720)
STEP = 4  # every so many pixels are looked at


def part_of(red: int, green: int, blue: int) -> str:
    """Of the scene helix: what a pixel shows. The ground and the sky are grey."""
    if red - blue > 50:
        return "rung" if green - blue > 50 else "red ball"
    return "blue ball" if blue - red > 50 else "rung" if green - blue > 30 else ""


class Demo(OnADisplay):
    def start_demo(self, *options) -> harness.Program:
        with self.file("said.txt").open("wb") as said:
            demo = self.start(harness.REPOSITORY / "scripts" / "demo", *options, stdout=said,
                              environment=self.with_display() | {"FRAMEWIRE_BIN": str(harness.BIN)})
        self.window = harness.wait_until(lambda: self.tool("xdotool", "search", "--onlyvisible",
                                                           "--class", "framewire"), "the window")
        return demo

    def parts(self) -> dict[str, list[tuple[int, int]]]:
        """The pixels of each part."""
        picture, found = self.screen(), {"red ball": [], "blue ball": [], "rung": [], "": []}
        for y in range(0, WINDOW[1], STEP):
            for x in range(0, WINDOW[0], STEP):
                found[part_of(*picture.at(x / SCREEN[0], y / SCREEN[1]))].append((x, y))
        del found[""]
        return found

    def has_all_parts(self) -> bool:
        """Both senders' and the viewer's own."""
        return all(len(pixels) > 100 for pixels in self.parts().values())

    def balls(self) -> list[tuple[int, int]]:
        parts = self.parts()
        return parts["red ball"] + parts["blue ball"]

    def steepness(self) -> float:
        """How much higher than wide the two strands of balls are. They turn by themselves, about the vertical."""
        xs, ys = zip(*self.balls())
        return (max(ys) - min(ys)) / (max(xs) - min(xs))

    def end_by_ctrl_c(self, demo: harness.Program):
        """Of a terminal, which signals its foreground group. The programs of the demo are in groups of their own."""
        self.assertGreater(len(demo.family()), 3, "the script, two senders and a viewer")
        os.killpg(demo.pid, signal.SIGINT)
        self.ends(demo)
        self.assertEqual(demo.family(), [])

    def test_depth(self):
        demo = self.start_demo("depth", "--size", "320x180")
        harness.wait_until(self.has_all_parts, "the parts of all three")
        self.assertGreater(self.steepness(), 1.3, "seen from the side")
        self.tool("xdotool", "mousemove", 400, 200, "mousedown", 1, "mousemove", 420, 300, "mousemove", 440, 350,
                  "mouseup", 1)
        harness.wait_until(lambda: self.steepness() < 1.2, "the scene from above")
        far = len(self.balls())
        self.tool("xdotool", "click", "--repeat", 4, 4)
        harness.wait_until(lambda: len(self.balls()) > 1.5 * far, "the scene from nearer")
        harness.wait_until(self.has_all_parts, "all parts again: a late sender's is left out for a moment")
        self.end_by_ctrl_c(demo)
        self.assertIn("in a window; drag to turn the scene", self.file("said.txt").read_text())
        self.assertRegex(demo.text, r"depth    [1-9][0-9]* sets shown")
        for number in re.findall(r"^frames   (\d+) received", demo.text, re.MULTILINE):
            self.assertGreater(int(number), 0)

    def test_depth_ends_by_itself(self):
        demo = self.start_demo("depth", "--size", "320x180", "--seconds", "10")
        self.ends(demo)
        self.assertEqual(demo.family(), [])
        self.assertEqual(demo.text.count("frames   "), 2)


if __name__ == "__main__":
    harness.main()
