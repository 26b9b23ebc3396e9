"""What the user does in the window, at the sender: captured by a click, released by the host key and by any end."""
import ctypes
import json

import harness
from played_viewer import PlayedViewer
from windows import SCREEN, OnADisplay

# USB HID usages of page 7.
A, L, Q, R, ESCAPE, TAB, LEFT, LEFT_SHIFT = 0x04, 0x0F, 0x14, 0x15, 0x29, 0x2B, 0x50, 0xE1
SHIFT = 2  # the modifier's bit


class InputWindow(OnADisplay):
    """Frames of 320x180 in a window of 640x360 at the corner: two pixels of the window are one of the frame."""

    def start_sender(self, *options, source="pattern") -> harness.Program:
        path = self.file(f"events-{len(self.programs)}.jsonl")
        with path.open("wb") as events:
            sender = self.send_on(source, "--size", "320x180", "--fps", "20", "--events", "-", *options,
                                  stdout=events)
        sender.events_file = path
        return sender

    def start_both(self, *options) -> tuple[harness.Program, harness.Program]:
        sender = self.start_sender()
        viewer = self.open_window(sender.address, "--size", "640x360", "--input", *options)
        viewer.wait_line("shown [1-9]")
        return sender, viewer

    @staticmethod
    def events(sender) -> list[dict]:
        text = sender.events_file.read_text(encoding="utf-8")
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def wait_event(self, sender, kind: str, after: int = 0, **wanted) -> int:
        """Waits for an event with these fields. Returns how many have come with it."""
        def number():
            for index, event in enumerate(self.events(sender)[after:], after + 1):
                if event["type"] == kind and all(event[name] == value for name, value in wanted.items()):
                    return index
            return 0
        try:
            return harness.wait_until(number, f"{kind} {wanted}")
        except AssertionError as error:
            lines = "\n".join(map(str, self.events(sender)[after:]))
            raise AssertionError(f"{error}; these events have come:\n{lines}") from None

    def move(self, x: int, y: int):
        self.tool("xdotool", "mousemove", x, y)

    def click(self, x: int, y: int, button: int = 1):
        self.tool("xdotool", "mousemove", x, y, "click", button)

    def capture(self, sender) -> int:
        """Clicks into the middle."""
        seen = len(self.events(sender))
        self.click(320, 180)
        return self.wait_event(sender, "button", seen, button="left", pressed=False)

    def title(self) -> str:
        return self.tool("xdotool", "getwindowname", self.window)

    def has_frame(self) -> bool:
        """The note in the picture comes and goes with it."""
        red, green, blue = self.screen().at(0.5 / SCREEN[0], 180 / SCREEN[1])
        return red < 120 and green > 180 and blue > 170

    def has_pictures(self) -> bool:
        """Whether both halves of the window show more than black and words: the bars begin with a white one."""
        screen = self.screen()
        return all(min(screen.at((x + 0.5) / SCREEN[0], 150 / SCREEN[1])) > 150 for x in (10, 330))

    def take_the_keyboard_away(self):
        """As when another window is clicked."""
        x11, display = self.open_display()
        x11.XSetInputFocus(display, ctypes.c_ulong(0), 0, ctypes.c_ulong(0))
        x11.XCloseDisplay(display)

    def quit(self, viewer):
        """When nothing is captured."""
        self.press("q")
        self.ends(viewer)

    def check_balance(self, sender):
        """Every press has one release before the focus ends, and nothing comes outside the focus."""
        down, is_focused, time_ns = set(), False, 0
        for event in self.events(sender):
            self.assertGreaterEqual(event["time_ns"], time_ns)
            time_ns = event["time_ns"]
            if event["type"] == "focus":
                self.assertNotEqual(event["focused"], is_focused)
                self.assertEqual(down, set())
                is_focused = event["focused"]
                continue
            self.assertTrue(is_focused, event)
            if event["type"] in ("key", "button") and not event.get("repeat"):
                which = (event["type"], event.get("usage") or event.get("keysym"), event.get("button"))
                self.assertEqual(which in down, not event["pressed"], event)
                (down.add if event["pressed"] else down.remove)(which)
        self.assertFalse(is_focused)

    def test_keys_go_to_the_sender_until_the_host_key(self):
        sender, viewer = self.start_both()
        self.press("h")  # the viewer's
        count = self.capture(sender)
        focus, size, *_ = self.events(sender)
        self.assertEqual((focus["type"], focus["focused"]), ("focus", True))
        self.assertEqual((size["type"], size["width"], size["height"]), ("size", 640, 360))
        self.assertRegex(focus["viewer"], r"^[0-9a-f]{16}$")
        for key, usage, keysym in (("q", Q, ord("q")), ("r", R, ord("r")), ("Escape", ESCAPE, 0xFF1B),
                                   ("Tab", TAB, 0xFF09), ("Left", LEFT, 0xFF51)):
            self.press(key)
            count = self.wait_event(sender, "key", count, usage=usage, keysym=keysym, pressed=True, repeat=False)
            count = self.wait_event(sender, "key", count, usage=usage, keysym=keysym, pressed=False)
        self.press("shift+a")
        count = self.wait_event(sender, "key", count, usage=LEFT_SHIFT, pressed=True, modifiers=SHIFT)
        count = self.wait_event(sender, "key", count, usage=A, keysym=ord("a"), pressed=True, modifiers=SHIFT)
        count = self.wait_event(sender, "text", count, text="A")
        count = self.wait_event(sender, "key", count, usage=LEFT_SHIFT, pressed=False, modifiers=0)
        self.assertIn(sender.address + " has the input; right Ctrl releases it", self.title())
        self.assertNotIn("recording", viewer.text + self.title())
        harness.wait_until(self.has_frame, "the frame around the picture")
        self.press("Control_R")
        count = self.wait_event(sender, "focus", count, focused=False)
        harness.wait_until(lambda: "has the input" not in self.title(), "the usual title")
        harness.wait_until(lambda: not self.has_frame(), "no frame around the picture")
        self.press("Control_R")
        count = self.wait_event(sender, "focus", count, focused=True)
        self.press("Control_R")
        self.wait_event(sender, "focus", count, focused=False)
        self.quit(viewer)
        self.check_balance(sender)
        stats = self.stats(viewer)
        self.assertGreaterEqual(stats["input_events_sent"], len(self.events(sender)))
        self.assertEqual(stats["input_events_lost"], 0)
        self.assertIn(f"input    {stats['input_events_sent']} events sent, 0 lost", viewer.text)
        self.assertGreater(stats["input_latency_ms"]["max"], 0)
        self.assertTrue(all(event["queued_ns"] >= event["time_ns"] for event in self.events(sender)))
        self.assertTrue(all(event["usage"] != 0xE4 for event in self.events(sender) if event["type"] == "key"))

    def test_merged_by_depth_the_mouse_counts_as_the_picture_is_drawn(self):
        """What a scene's file says of a layer does not count there."""
        depth = ("--pix-fmt", "rgba+grayf32le")
        other, sender = (self.start_sender(*depth, source=f"gl:helix:{part}") for part in (1, 2))
        self.file("scene.toml").write_text(
            f"layout = 'depth'\n[[layer]]\nsource = '{other.address}'\n"
            f"[[layer]]\nsource = '{sender.address}'\ncrop = [0, 0, 160, 90]\nhidden = true\n")
        viewer = self.open_window("--scene", self.file("scene.toml"), "--size", "640x360", "--input", "--verbose")
        for each in (other, sender):
            viewer.wait_line(f"^{each.address}: the stream's pictures")
        shown = len(viewer.lines)
        viewer.wait_line("shown [1-9]", after=shown + 2)
        count = self.capture(sender)
        sizes = [(event["width"], event["height"]) for event in self.events(sender) if event["type"] == "size"]
        self.assertEqual(sizes, [(640, 360)])
        self.assertEqual({(event["x"], event["y"]) for event in self.events(sender) if event["type"] == "button"},
                         {(160, 90)})
        self.press("Control_R")
        self.wait_event(sender, "focus", count, focused=False)
        self.quit(viewer)
        self.assertEqual(self.events(other), [])

    def test_the_mouse_counts_in_pixels_of_the_frame(self):
        sender, viewer = self.start_both("--host-key", "f12")
        count = self.capture(sender)
        self.wait_event(sender, "button", button="left", pressed=True, x=160, y=90)
        self.move(40, 60)
        count = self.wait_event(sender, "pointer", count, x=20, y=30, locked=False)
        self.move(44, 50)
        count = self.wait_event(sender, "pointer", count, x=22, y=25)
        way = [(event["dx"], event["dy"]) for event in self.events(sender) if event["type"] == "pointer"]
        self.assertEqual((sum(dx for dx, _ in way), sum(dy for _, dy in way)), (22 - 160, 25 - 90))
        for number, name in ((3, "right"), (2, "middle"), (8, "back"), (9, "forward")):
            self.click(44, 50, number)
            count = self.wait_event(sender, "button", count, button=name, pressed=True, x=22, y=25)
            count = self.wait_event(sender, "button", count, button=name, pressed=False)
        for number, dx, dy in ((4, 0, 1), (5, 0, -1), (7, 1, 0), (6, -1, 0)):
            self.click(44, 50, number)
            count = self.wait_event(sender, "wheel", count, dx=dx, dy=dy, x=22, y=25)
        self.tool("xdotool", "windowsize", self.window, 1280, 720)
        count = self.wait_event(sender, "size", count, width=1280, height=720)
        self.move(400, 200)
        count = self.wait_event(sender, "pointer", count, x=100, y=50)
        self.press("F12")
        self.wait_event(sender, "focus", count, focused=False)
        self.quit(viewer)
        self.check_balance(sender)

    def test_what_is_held_is_released_when_the_keyboard_goes(self):
        sender, viewer = self.start_both()
        count = self.capture(sender)
        self.tool("xdotool", "keydown", "a", "mousedown", 3)
        count = self.wait_event(sender, "button", count, button="right", pressed=True)
        self.take_the_keyboard_away()
        end = self.wait_event(sender, "focus", count, focused=False)
        self.wait_event(sender, "key", count, usage=A, pressed=False)
        self.wait_event(sender, "button", count, button="right", pressed=False)
        self.tool("xdotool", "keyup", "a", "mouseup", 3)
        self.press("h")
        self.quit(viewer)
        self.assertEqual(len(self.events(sender)), end)
        self.check_balance(sender)

    def test_the_end_of_the_viewer_releases_what_is_held(self):
        sender = self.start_sender()
        for end in (lambda viewer: viewer.interrupt(), lambda viewer: self.close_as_a_window_manager_does()):
            viewer = self.open_window(sender.address, "--size", "640x360", "--input")
            viewer.wait_line("shown [1-9]")
            count = self.capture(sender)
            self.tool("xdotool", "keydown", "a")
            count = self.wait_event(sender, "key", count, usage=A, pressed=True)
            end(viewer)
            self.ends(viewer)
            self.tool("xdotool", "keyup", "a")
            count = self.wait_event(sender, "key", count, usage=A, pressed=False)
            self.wait_event(sender, "focus", count, focused=False)
        self.check_balance(sender)
        self.assertEqual(len({event["viewer"] for event in self.events(sender)}), 2)

    def test_a_click_into_another_picture_takes_the_input_there(self):
        left, right = self.start_sender(), self.start_sender()
        viewer = self.open_window(left.address, right.address, "--size", "640x360", "--layout", "side", "--input")
        harness.wait_until(self.has_pictures, "both pictures")
        self.click(160, 180)
        self.wait_event(left, "button", pressed=False, x=160, y=90)
        self.tool("xdotool", "keydown", "a")
        self.wait_event(left, "key", usage=A, pressed=True)
        self.click(480, 180)
        self.wait_event(right, "button", pressed=False, x=160, y=90)
        self.wait_event(left, "focus", focused=False)
        self.assertEqual(self.events(right)[0]["type"], "focus")
        self.tool("xdotool", "keyup", "a")
        right.kill()  # its stream is lost, and with it the focus
        harness.wait_until(lambda: "has the input" not in self.title(), "the usual title")
        self.quit(viewer)
        self.check_balance(left)

    def test_the_pointer_is_locked(self):
        sender, viewer = self.start_both("--pointer-lock")
        count = self.capture(sender)
        for _ in range(4):  # further than the window
            self.tool("xdotool", "mousemove_relative", 300, 0)
        harness.wait_until(lambda: sum(event["dx"] for event in self.events(sender)[count:]
                                       if event["type"] == "pointer" and event["locked"]) == 600, "the whole way")
        self.assertEqual({(event["x"], event["y"]) for event in self.events(sender)[count:]}, {(160, 90)})
        count = len(self.events(sender))
        self.tool("xdotool", "keydown", "Control_R", "key", "l", "keyup", "Control_R")
        count = self.wait_event(sender, "pointer", count, locked=False)
        self.move(40, 60)
        self.wait_event(sender, "pointer", count, x=20, y=30, locked=False)
        self.press("Control_R")
        self.wait_event(sender, "focus", count, focused=False)
        self.quit(viewer)
        self.check_balance(sender)
        self.assertEqual([event for event in self.events(sender) if event.get("usage") == L], [])

    def test_a_sender_that_takes_no_input_is_named_once(self):
        sender, viewer = self.start_bars("--input")
        self.click(320, 180)
        viewer.wait_line(f"warning: {sender.address}: this source takes no input: ")
        self.click(320, 180)
        self.press("h")
        self.quit(viewer)
        self.assertEqual(viewer.text.count("takes no input"), 1)

    def test_a_refused_viewer_captures_once_the_sender_takes_its_input(self):
        sender = self.start_sender("--insecure")
        viewer = self.open_window(sender.address, "--size", "640x360", "--input", "--insecure")
        viewer.wait_line("shown [1-9]")
        with PlayedViewer(sender.port) as owner:
            owner.input({"type": "focus", "focused": True})
            self.wait_event(sender, "focus", focused=True)
            self.click(320, 180)
            viewer.wait_line("another viewer has the input")
            self.press("Control_R")  # in vain
        count = self.wait_event(sender, "focus", focused=False)
        self.assertEqual(count, 2)
        # It is told at some time. Whether the last one of these captures or releases does not matter.
        harness.wait_until(lambda: self.press("Control_R") or len(self.events(sender)) > count, "input again")
        count = self.wait_event(sender, "focus", count, focused=True)
        viewer.interrupt()
        self.ends(viewer)
        self.wait_event(sender, "focus", count, focused=False)
        self.check_balance(sender)
        self.assertEqual(viewer.text.count("another viewer has the input"), 1)

    def test_there_is_no_input_without_a_window(self):
        viewer = self.view("127.0.0.1:1", "--input")
        self.ends(viewer, harness.USAGE)
        self.one_message(viewer, "--input", "--headless")


if __name__ == "__main__":
    harness.main()
