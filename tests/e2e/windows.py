"""The viewer's window on an X server without a screen."""
import ctypes
import ctypes.util
import os
import select
import struct
import subprocess

import harness
import pictures

SCREEN = (1280, 800)
NORMAL, ICONIC = 1, 3  # of WM_STATE: ICCCM 4.1.3.1


class OnADisplay(harness.EndToEnd):
    def setUp(self):
        super().setUp()
        for tool in ("xdotool", "ffmpeg"):
            harness.require_tool(tool)
        self.display = self.start_server()

    def start_server(self) -> str:
        """Starts self.server, which ends with the test; returns the display's name."""
        harness.require_tool("Xvfb")
        reads, writes = os.pipe()
        screen = ["-screen", "0", f"{SCREEN[0]}x{SCREEN[1]}x24"]
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(writes), *screen, "-noreset", "-nolisten", "tcp"],
                                       pass_fds=[writes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end_server)
        os.close(writes)
        with os.fdopen(reads) as number:
            says = select.select([number], [], [], harness.WATCHDOG_S)[0]
            display = ":" + (number.readline().strip() if says else "")
        self.assertNotEqual(display, ":", "Xvfb did not start")
        return display

    def end_server(self):
        self.server.terminate()
        try:
            self.server.wait(harness.WATCHDOG_S)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
            raise

    def with_display(self) -> dict:
        # Display libraries that are unloaded again leak a few strings, which LeakSanitizer cannot tell from ours.
        return self.environment(DISPLAY=self.display,
                                ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")

    def tool(self, *command) -> str:
        done = subprocess.run([str(word) for word in command], env=self.with_display(), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=harness.WATCHDOG_S, check=False)
        return done.stdout.decode().strip()

    def open_window(self, *options) -> harness.Program:
        viewer = self.view(*options, headless=False, environment=self.with_display(), terminal=True)
        self.find_window()
        return viewer

    def find_window(self):
        self.window = harness.wait_until(lambda: self.tool("xdotool", "search", "--onlyvisible",
                                                           "--class", "framewire"), "the window")
        self.tool("xdotool", "windowfocus", self.window)

    def start_bars(self, *options, size="640x360") -> tuple[harness.Program, harness.Program]:
        sender = self.send_on("pattern", "--size", "320x180", "--fps", "20")
        viewer = self.open_window(sender.address, "--size", size, *options)
        viewer.wait_line("shown [1-9]")
        return sender, viewer

    def press(self, key: str):
        self.tool("xdotool", "windowfocus", self.window)
        self.tool("xdotool", "key", key)

    def open_display(self):
        """Opens libX11 and a connection: the test does a window manager's work, as this server has none."""
        x11 = ctypes.CDLL(ctypes.util.find_library("X11"))
        x11.XOpenDisplay.restype = ctypes.c_void_p
        x11.XInternAtom.restype = ctypes.c_ulong
        return x11, ctypes.c_void_p(x11.XOpenDisplay(self.display.encode()))

    def close_as_a_window_manager_does(self):
        """Sends WM_DELETE_WINDOW by libX11: older versions of xdotool cannot."""
        x11, display = self.open_display()
        atom = [x11.XInternAtom(display, name, False) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW")]
        # XClientMessageEvent, 192 bytes:
        # type 33, serial, send_event, display, window, message_type, format 32, data.l[0].
        event = ctypes.create_string_buffer(struct.pack("=i4xQi4xQQQi4xQ", 33, 0, 1, 0, int(self.window), atom[0], 32,
                                                        atom[1]), 192)
        x11.XSendEvent(display, ctypes.c_ulong(int(self.window)), False, ctypes.c_long(0), event)
        x11.XCloseDisplay(display)

    def minimise_as_a_window_manager_does(self, iconic: bool):
        """ICCCM 4.1.4: unmaps the window and sets WM_STATE to Iconic, or maps it and sets Normal."""
        self.tool("xdotool", "windowunmap" if iconic else "windowmap", self.window)
        self.set_window_state(ICONIC if iconic else NORMAL)

    def set_window_state(self, state: int):
        x11, display = self.open_display()
        name = x11.XInternAtom(display, b"WM_STATE", False)
        values = (ctypes.c_long * 2)(state, 0)
        x11.XChangeProperty(display, ctypes.c_ulong(int(self.window)), ctypes.c_ulong(name), ctypes.c_ulong(name), 32,
                            0, values, 2)
        x11.XCloseDisplay(display)

    def screen(self) -> pictures.Picture:
        """A picture of the X server's whole screen."""
        size = f"{SCREEN[0]}x{SCREEN[1]}"
        self.tool("ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "x11grab", "-draw_mouse", "0", "-video_size", size,
                  "-i", self.display, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", self.file("screen.rgb"))
        return pictures.Picture(*SCREEN, 3, self.file("screen.rgb").read_bytes())

    def has_bars(self, picture=None, at_y=0.2) -> bool:
        """White, yellow, cyan, green, magenta, red and blue at 75 %, somewhere along a row of the screen."""
        picture = picture or self.screen()
        row = {picture.at(x / SCREEN[0], at_y) for x in range(SCREEN[0])}
        bars = [(r, g, b) for r in (0, 191) for g in (0, 191) for b in (0, 191) if (r, g, b) != (0, 0, 0)]
        return all(any(max(abs(a - b) for a, b in zip(bar, pixel)) <= 2 for pixel in row) for bar in bars)
