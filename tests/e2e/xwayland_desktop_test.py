"""The viewer's window on a desktop: in Xwayland under weston, whose screen is a window of an X server without a screen.
Keys and mouse take the way that they take on a desktop, through compositor and Xwayland; weston moves and resizes."""
import ctypes
import json
import re

import harness
import pictures
import weston
from windows import ICONIC, SCREEN, OnADisplay

SIZE = (640, 360)
FRAME = (320, 180)
EDGE = 3  # in the frame that weston draws around the window, at its lower right corner
GROWN = (740, 440)


class Desktop(OnADisplay):
    def start_server(self) -> str:
        self.outer_display = super().start_server()
        _, display = weston.start(self, "--backend=x11-backend.so", "--use-pixman", DISPLAY=self.outer_display)
        return display

    def on_the_outer_display(self, action, *arguments):
        inner, self.display = self.display, self.outer_display
        try:
            return action(*arguments)
        finally:
            self.display = inner

    def user(self, *actions):
        """What a user does at weston's screen, by xdotool."""
        self.on_the_outer_display(self.tool, "xdotool", *actions)

    def screen(self) -> pictures.Picture:
        return self.on_the_outer_display(super().screen)

    def corner(self) -> tuple[int, int]:
        """Where weston has put the window's upper left corner. xdotool counts the frame of the window twice."""
        x11, display = self.open_display()
        x11.XDefaultRootWindow.restype = ctypes.c_ulong
        x, y, child = ctypes.c_int(), ctypes.c_int(), ctypes.c_ulong()
        x11.XTranslateCoordinates(display, ctypes.c_ulong(int(self.window)),
                                  ctypes.c_ulong(x11.XDefaultRootWindow(display)), 0, 0, ctypes.byref(x),
                                  ctypes.byref(y), ctypes.byref(child))
        x11.XCloseDisplay(display)
        return x.value, y.value

    def size(self) -> tuple[int, int]:
        words = dict(line.split("=")
                     for line in self.tool("xdotool", "getwindowgeometry", "--shell", self.window).splitlines())
        return int(words["WIDTH"]), int(words["HEIGHT"])

    def sees_bars(self) -> bool:
        """Near the upper edge of the window, where it was last."""
        return self.has_bars(at_y=(self.at[1] + 60) / SCREEN[1])

    def start_window(self, *options) -> tuple[harness.Program, harness.Program]:
        self.events_file = self.file("events.jsonl")
        with self.events_file.open("wb") as output:
            sender = self.send_on("pattern", "--size", f"{FRAME[0]}x{FRAME[1]}", "--fps", "20", "--events", "-",
                                  stdout=output)
        viewer = self.open_window(sender.address, "--size", f"{SIZE[0]}x{SIZE[1]}", *options)
        viewer.wait_line("shown [1-9]")
        self.at = harness.wait_until(lambda: (lambda at: at if at[0] > 0 else None)(self.corner()), "its place")
        harness.wait_until(self.sees_bars, "the bars on weston's screen")
        # weston adds up how the pointer moves, from anywhere. Two corners of the screen make its place the same.
        self.user("mousemove", SCREEN[0] - 1, SCREEN[1] - 1, "mousemove", 0, 0)
        return sender, viewer

    def has_focus(self) -> bool:
        return self.tool("xdotool", "getwindowfocus") == self.window

    def focus(self):
        """By a click into the picture."""
        self.user("mousemove", self.at[0] + SIZE[0] // 2, self.at[1] + SIZE[1] // 2, "click", 1)
        harness.wait_until(self.has_focus, "the keyboard's focus")

    def end(self, sender, viewer) -> dict:
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        return self.checked_stats(sender, viewer)[1]

    @staticmethod
    def counts(viewer) -> tuple[int, int]:
        """Shown and superseded frames, of the newest status line."""
        shown, superseded = re.findall(r"shown (\d+) · superseded (\d+)", viewer.text)[-1]
        return int(shown), int(superseded)

    def test_keys(self):
        sender, viewer = self.start_window()
        self.focus()
        self.user("key", "s")
        name = viewer.wait_line(r"screenshot in (framewire-.*\.png)").group(1)
        self.assertEqual(pictures.read_png(self.file(name)).width, SIZE[0])
        self.user("key", "f")
        harness.wait_until(lambda: self.size() == SCREEN, "the window to fill the screen")
        harness.wait_until(lambda: self.has_bars(at_y=0.3), "the bars over the screen")
        self.user("key", "f")
        harness.wait_until(lambda: self.size() == SIZE, "the window as it was")
        self.user("key", "q")
        self.end(sender, viewer)

    def test_the_mouse_reaches_the_sender(self):
        sender, viewer = self.start_window("--input")
        self.focus()

        def events(kind: str) -> list[dict]:
            text = self.events_file.read_text(encoding="utf-8")
            lines = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
            return [event for event in lines if event["type"] == kind]

        pressed = harness.wait_until(lambda: events("button"), "the click")[0]
        self.assertEqual((pressed["button"], pressed["pressed"]), ("left", True))
        # Two pixels of the window are one of the frame. The cursor's own pixel is one.
        self.assertAlmostEqual(pressed["x"], FRAME[0] // 2, delta=1)
        self.assertAlmostEqual(pressed["y"], FRAME[1] // 2, delta=1)
        self.user("mousemove", self.at[0] + 100, self.at[1] + 300)
        harness.wait_until(lambda: any(abs(event["x"] - 50) <= 1 and abs(event["y"] - 150) <= 1
                                       for event in events("pointer")), "where the pointer went")
        self.user("click", 4)
        harness.wait_until(lambda: [event for event in events("wheel") if event["dy"] > 0], "the wheel")
        self.user("key", "q")  # not the viewer's: it is captured
        harness.wait_until(lambda: [event for event in events("key") if not event["pressed"]], "the key")
        viewer.interrupt()
        self.end(sender, viewer)

    def drag_until_grown(self, pointer: list[int]):
        """Drags as a user does, who looks at the window meanwhile: weston begins to resize some time after the button
        went down, and how far the pointer went before is lost."""
        def drag(*by: int):
            pointer[:] = [place + pixels for place, pixels in zip(pointer, by)]
            self.user("mousemove", *pointer)

        def has_begun() -> bool:
            drag(1, 1)
            return self.size() != SIZE

        def has_grown() -> bool:
            size = self.size()
            if size != GROWN:
                drag(GROWN[0] - size[0], GROWN[1] - size[1])
            return size == GROWN

        harness.wait_until(has_begun, "weston to begin", poll_interval_s=0.2)
        harness.wait_until(has_grown, "the new size", poll_interval_s=1)

    def test_dragging_its_corner_resizes_it(self):
        sender, viewer = self.start_window()
        corner = [self.at[i] + SIZE[i] + EDGE for i in (0, 1)]
        self.user("mousemove", *corner)
        self.user("mousedown", 1)
        self.drag_until_grown(corner)
        self.user("mouseup", 1)
        harness.wait_until(self.sees_bars, "the bars in the larger window")
        viewer.interrupt()
        shown = self.end(sender, viewer)
        self.assertEqual(shown["surface"], f"window {GROWN[0]}x{GROWN[1]}")

    def minimise(self, viewer) -> int:
        """weston minimises no windows of X: the test does what other window managers do. Returns how many frames had
        been shown once the viewer knew."""
        self.tool("xdotool", "windowunmap", "--sync", self.window)
        harness.wait_until(lambda: not self.sees_bars(), "the window to go")
        before = self.counts(viewer)[1]

        def is_known() -> bool:
            self.set_window_state(ICONIC)  # weston writes it, too, when it hears that the window is unmapped
            return self.counts(viewer)[1] >= before + 15
        harness.wait_until(is_known, "frames that are passed over", poll_interval_s=0.5)
        return self.counts(viewer)[0]

    def test_minimised_it_takes_frames_and_comes_back(self):
        film = self.file("film.raw")
        sender, viewer = self.start_window("--output", film)
        shown = self.minimise(viewer)
        before = self.counts(viewer)[1]
        harness.wait_until(lambda: self.counts(viewer)[1] >= before + 30, "more of them")
        self.assertEqual(self.counts(viewer)[0], shown, "frames were drawn that nobody can see")
        self.minimise_as_a_window_manager_does(False)
        harness.wait_until(self.sees_bars, "the bars on weston's screen again")
        harness.wait_until(lambda: self.counts(viewer)[0] > shown, "frames that are shown")
        self.minimise(viewer)
        viewer.interrupt()
        stats = self.end(sender, viewer)
        self.assertEqual(stats["frames_recorded"] + stats["frames_unrecorded"], stats["frames_received"])
        self.assertEqual(film.stat().st_size, stats["frames_recorded"] * FRAME[0] * FRAME[1] * 4)


if __name__ == "__main__":
    harness.main()
