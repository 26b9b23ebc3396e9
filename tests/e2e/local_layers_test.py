"""framewire view --layer: sources of this machine beside remote streams, each sent by a program of the viewer's own."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import zlib

import harness
import pictures

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
PATTERN = ("pattern", "--size", "64x36", "--fps", "20")


def png(colour: tuple, width: int = 64, height: int = 36) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    rows = (b"\0" + bytes(colour) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def is_near(colour: tuple, wanted: tuple) -> bool:
    return all(abs(a - b) < 12 for a, b in zip(colour, wanted))


def is_alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def senders_of(viewer: harness.Program) -> dict[str, int]:
    """The living framewire-send of each source that the viewer has started. One that exec() has yet to make is none."""
    found = {}
    for pid in viewer.family():
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"framewire-send") and b"--to" in words:
            found[words[-2].decode()] = pid
    return found


def open_files(pid: int) -> dict[int, str]:
    """What its descriptors lead to. One that is closed meanwhile is none."""
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found[int(number)] = os.readlink(f"/proc/{pid}/fd/{number}")
    return found


class LocalLayers(harness.EndToEnd):
    def view_layers(self, *arguments, **options) -> harness.Program:
        return self.view(*arguments, "--verbose", **options)

    def scene(self, *layers: str) -> pathlib.Path:
        """Replaces the scene's file, as an editor does."""
        self.file("new.toml").write_text("layout = 'side'\n" + "".join(f"[[layer]]\n{layer}\n" for layer in layers))
        return self.file("new.toml").rename(self.file("scene.toml"))

    def wait_senders(self, viewer: harness.Program, *sources: str) -> dict[str, int]:
        return harness.wait_until(lambda: (found := senders_of(viewer)).keys() == set(sources) and found,
                                  f"senders of {sources}")

    def wait_pictures(self, viewer: harness.Program, *sources: str):
        """Until the stream of each source has its format, so that its frames come."""
        for source in sources:
            viewer.wait_line(f"^(?:{re.escape(source)}: )?the stream's pictures")

    def programs_with_a_script(self, script: str) -> pathlib.Path:
        """A folder with framewire-view and a script in place of framewire-send, whose path it returns."""
        folder = self.file("bin")
        folder.mkdir()
        shutil.copy(harness.BIN / "framewire-view", folder)
        send = folder / "framewire-send"
        send.write_text(f"#!/bin/sh\nSEND='{harness.BIN}/framewire-send'\n{script}\n")
        send.chmod(0o755)
        return send

    def script_environment(self) -> dict:
        """The copy of framewire-view finds the library of the build, and no other framewire-send."""
        return self.environment(PATH="/bin:/usr/bin", LD_LIBRARY_PATH=str(harness.BIN.parent / "lib"))

    def interrupt_and_expect(self, viewer: harness.Program, status: int = harness.OK):
        """Ctrl-C in a terminal goes to the foreground process group: the viewer's alone."""
        pids = senders_of(viewer).values()
        os.killpg(viewer.pid, signal.SIGINT)
        self.ends(viewer, status)
        self.assertEqual([pid for pid in pids if is_alive(pid)], [])
        self.assertEqual(viewer.family(), [])

    def test_an_image_beside_a_sender(self):
        self.file("red.png").write_bytes(png(RED))
        self.file("green.png").write_bytes(png(GREEN))
        sender = self.send_on("red.png")
        viewer = self.view_layers(sender.address, "--layer", "green.png", "--layout", "side", "--screenshot", "now.png",
                                  "--size", "320x90")
        self.ends(viewer)
        picture = pictures.read_png(self.file("now.png"))
        self.assertTrue(is_near(picture.at(0.25, 0.5), RED), picture.at(0.25, 0.5))
        self.assertTrue(is_near(picture.at(0.75, 0.5), GREEN), picture.at(0.75, 0.5))
        self.assertIn("green.png: transport=local memory=host auth=user control=unix", viewer.text)
        self.assertEqual(viewer.complaints(), [])

    def test_layers_lie_over_all_streams_of_a_sender(self):
        """The streams that the viewer learns of later take their places before the layers."""
        for name, colour in (("red", RED), ("green", GREEN), ("blue", BLUE)):
            self.file(f"{name}.png").write_bytes(png(colour))
        sender = self.send_on("red.png", "green.png", "--loop")
        viewer = self.view_layers(sender.address, "--layer", "blue.png", "--layout", "side", "--screenshot", "now.png",
                                  "--size", "480x90")
        self.wait_pictures(viewer, sender.address, sender.address + "/green", "blue.png")
        viewer.wait_line(r"^blue.png: stream blue: 1 frames")
        sender.interrupt()
        self.ends(viewer)
        picture = pictures.read_png(self.file("now.png"))
        for x, colour in ((1 / 6, RED), (1 / 2, GREEN), (5 / 6, BLUE)):
            self.assertTrue(is_near(picture.at(x, 0.5), colour), (x, picture.at(x, 0.5)))

    def test_an_image_alone_is_shown_and_ends(self):
        self.file("red.png").write_bytes(png(RED))
        viewer = self.view("--layer", "red.png", "--screenshot", "now.png")
        self.ends(viewer)
        self.assertTrue(is_near(pictures.read_png(self.file("now.png")).at(0.5, 0.5), RED))
        self.assertEqual(self.stats(viewer)["frames_received"], 1)

    def test_a_film_whose_sender_waits_for_the_last_viewer(self):
        """Under --delivery every a sender ends only after its viewer's bye."""
        self.file("red.png").write_bytes(png(RED))
        self.scene("local = 'red.png'\noptions = ['--delivery', 'every']")
        self.ends(self.view("--scene", "scene.toml"))

    def test_scenes_and_patterns_are_as_large_as_the_viewer(self):
        """Else three of them are too much for a machine without a GPU. An option says another size."""
        self.scene("local = 'pattern'\noptions = ['--fps', '20']", "local = 'gl:orbit'\noptions = ['--fps=20']",
                   "local = 'gl:aurora'\noptions = ['--fps', '20', '--size', '64x36']")
        viewer = self.view_layers("--scene", "scene.toml", "--size", "322x181", "--frames", "5")
        self.ends(viewer)
        formats = [stream["format"].split()[0] for stream in self.read_stats(viewer.stats_file)["streams"]]
        self.assertEqual(formats, ["322x181", "322x181", "64x36"])
        layers = ("--layer", "gl:aurora", "--layer", "gl:orbit", "--layer", "pattern")
        viewer = self.view_layers(*layers, "--layout", "pip", "--size", "160x90", "--frames", "3")
        self.ends(viewer)
        for stream in self.read_stats(viewer.stats_file)["streams"]:
            self.assertEqual(stream["format"].split()[0], "160x90", stream)
            self.assertGreater(stream["frames_shown"], 0, stream)

    def test_one_that_is_stopped_is_marked(self):
        """Its session over shared memory goes on."""
        self.scene("local = 'pattern'\noptions = ['--fps=20']", "local = 'pattern:stamped'\noptions = ['--fps=20']")
        viewer = self.view_layers("--scene", "scene.toml", terminal=True)
        self.wait_pictures(viewer, "pattern", "pattern:stamped")
        stopped = self.wait_senders(viewer, "pattern", "pattern:stamped")["pattern"]
        os.kill(stopped, signal.SIGSTOP)
        viewer.wait_line(r"fps .* shown \d+ .* · pattern: no frame for [3-9] s$")
        self.assertNotIn("pattern:stamped: no frame", viewer.text)
        os.kill(stopped, signal.SIGCONT)
        viewer.wait_line(r"fps .* skipped \d+$", after=len(viewer.lines))
        self.assertEqual(viewer.complaints(), [])
        self.assertEqual(viewer.text.count("pattern: transport="), 1, "its session has gone on")
        self.interrupt_and_expect(viewer)

    def test_it_inherits_no_descriptors(self):
        viewer = self.view_layers("--layer", "pattern:stamped", "--layer", "pattern")
        self.wait_pictures(viewer, "pattern:stamped", "pattern")
        ours = set(open_files(viewer.pid).values())
        for pid in self.wait_senders(viewer, "pattern:stamped", "pattern").values():
            self.assertEqual(os.readlink(f"/proc/{pid}/fd/0"), "/dev/null")
            self.assertEqual(os.readlink(f"/proc/{pid}/fd/1"), "/dev/null")
            log = os.readlink(f"/proc/{pid}/fd/2")
            self.assertIn(log, ours)
            others = {file for number, file in open_files(pid).items() if number > 2}
            shared = {name for name in others & ours if re.match(r"(pipe|socket):", name)}
            self.assertEqual(shared, set())
            self.assertNotEqual(os.getpgid(pid), viewer.pid)
        self.interrupt_and_expect(viewer)

    def test_one_that_is_killed_comes_back_and_the_others_go_on(self):
        self.file("red.png").write_bytes(png(RED))
        sender = self.send_on("red.png", "--loop")
        self.scene(f"source = '{sender.address}'", "local = 'pattern'\noptions = ['--size=64x36', '--fps', '20']",
                   "local = 'pattern:stamped'\noptions = ['--size', '64x36', '--fps', '20']")
        viewer = self.view_layers("--scene", "scene.toml", "--screenshot", "now.png", "--size", "480x90")
        self.wait_pictures(viewer, sender.address, "pattern", "pattern:stamped")
        before = self.wait_senders(viewer, "pattern", "pattern:stamped")
        said = len(viewer.lines)
        os.kill(before["pattern"], signal.SIGKILL)
        viewer.wait_line(r"^framewire-view: warning: pattern: framewire-send was ended by signal 9 \(Killed\)")
        viewer.wait_line("^pattern: transport=local", after=said)
        after = self.wait_senders(viewer, "pattern", "pattern:stamped")
        self.assertNotEqual(after["pattern"], before["pattern"])
        self.assertEqual(after["pattern:stamped"], before["pattern:stamped"])
        self.assertNotRegex("\n".join(viewer.lines[said:]), r"(?m)^(pattern:stamped|127\.0\.0\.1.*): (transport|lost)")
        self.assertEqual(len(viewer.complaints()), 1, viewer.text)
        self.interrupt_and_expect(viewer)
        picture = pictures.read_png(self.file("now.png"))
        self.assertTrue(is_near(picture.at(1 / 6, 0.5), RED), picture.at(1 / 6, 0.5))

    def test_while_it_is_away_a_placeholder_says_so(self):
        """What is killed cannot be started again: the viewer's framewire-send is removed before."""
        send = self.programs_with_a_script('exec "$SEND" "$@"')
        self.file("red.png").write_bytes(png(RED))
        sender = self.send_on("red.png", "--loop")
        self.scene(f"source = '{sender.address}'", "local = 'red.png'\noptions = ['--loop', '--fps', '20']")
        viewer = self.start(send.with_name("framewire-view"), "--scene", "scene.toml", "--headless", "--size", "480x90",
                            "--verbose", "--screenshot", "now.png", environment=self.script_environment())
        self.wait_pictures(viewer, sender.address, "red.png")
        send.unlink()
        os.kill(self.wait_senders(viewer, "red.png")["red.png"], signal.SIGKILL)
        viewer.wait_line("^framewire-view: warning: red.png: .*framewire-send.*No such file")
        self.interrupt_and_expect(viewer, harness.FAILED)
        picture = pictures.read_png(self.file("now.png"))
        self.assertTrue(is_near(picture.at(0.25, 0.5), RED), picture.at(0.25, 0.5))
        self.assertFalse(is_near(picture.at(0.52, 0.05), RED), "the last picture is dimmed")

    def test_a_source_that_does_not_exist(self):
        sender = self.send_on(*PATTERN)
        viewer = self.view_layers("--layer", "none.mkv", sender.address)
        viewer.wait_line("warning: none.mkv: ")
        viewer.wait_line("^none.mkv: cannot open 'none.mkv'.* starts it again")  # the second time it is no news
        self.wait_pictures(viewer, sender.address)
        self.one_message(viewer, "^framewire-view: warning: none.mkv: cannot open 'none.mkv': there is no such file")
        self.interrupt_and_expect(viewer, harness.FAILED)

    def test_options_that_are_wrong(self):
        self.scene("local = 'pattern'\noptions = ['--fps', '0']")
        viewer = self.view("--scene", "scene.toml")
        self.ends(viewer, harness.USAGE)
        self.one_message(viewer, "warning: pattern: --fps is '0'; it takes")

    def test_kill_9_of_the_viewer(self):
        viewer = self.view_layers("--layer", "pattern", "--layer", "pattern:stamped")
        self.wait_pictures(viewer, "pattern", "pattern:stamped")
        pids = self.wait_senders(viewer, "pattern", "pattern:stamped").values()
        viewer.kill()
        harness.wait_until(lambda: not any(is_alive(pid) for pid in pids), "the senders to end with their viewer")

    def test_kill_9_of_the_viewer_while_a_sender_is_stopped(self):
        viewer = self.view_layers("--layer", "pattern")
        self.wait_pictures(viewer, "pattern")
        pid = self.wait_senders(viewer, "pattern")["pattern"]
        os.kill(pid, signal.SIGSTOP)
        viewer.kill()
        harness.wait_until(lambda: not is_alive(pid), "the sender to end with its viewer")

    def test_a_sender_that_does_not_end_is_killed(self):
        viewer = self.view_layers("--layer", "pattern")
        self.wait_pictures(viewer, "pattern")
        os.kill(self.wait_senders(viewer, "pattern")["pattern"], signal.SIGSTOP)
        self.interrupt_and_expect(viewer)

    def test_ctrl_c(self):
        viewer = self.view("--layer", "pattern", "--layer", "pattern:stamped", terminal=True)
        viewer.wait_line("shown [1-9]")
        self.wait_senders(viewer, "pattern", "pattern:stamped")
        self.interrupt_and_expect(viewer)
        self.assertEqual(viewer.text.count("stream pattern"), 0, "what its senders say are details")

    def test_paths_of_a_scene_begin_at_its_file(self):
        self.file("scenes").mkdir()
        self.file("scenes/red.png").write_bytes(png(RED))
        self.file("scenes/a.toml").write_text("[[layer]]\nlocal = 'red.png'\n")
        viewer = self.view("--scene", "scenes/a.toml", "--screenshot", "now.png")
        self.ends(viewer)
        self.assertTrue(is_near(pictures.read_png(self.file("now.png")).at(0.5, 0.5), RED))

    def test_a_scene_that_changes(self):
        small = "\noptions = ['--size', '64x36', '--fps', '20']"
        self.scene("local = 'pattern'" + small, "local = 'pattern:stamped'" + small)
        viewer = self.view_layers("--scene", "scene.toml")
        before = self.wait_senders(viewer, "pattern", "pattern:stamped")
        self.wait_pictures(viewer, "pattern", "pattern:stamped")
        self.scene("local = 'gl:aurora'" + small.replace(']', ", '--slots', '3']"), "local = 'pattern:stamped'" + small)
        after = self.wait_senders(viewer, "gl:aurora", "pattern:stamped")
        self.assertEqual(after["pattern:stamped"], before["pattern:stamped"])
        harness.wait_until(lambda: not is_alive(before["pattern"]), "the end of the sender that is not shown any more")
        self.wait_pictures(viewer, "gl:aurora")
        self.scene("local = 'pattern:stamped'\noptions = ['--size', '32x18']")
        harness.wait_until(lambda: (found := senders_of(viewer)).keys() == {"pattern:stamped"}
                           and found["pattern:stamped"] != before["pattern:stamped"], "a sender with the new options")
        self.assertEqual(viewer.complaints(), [])
        self.interrupt_and_expect(viewer)

    def test_a_source_that_fails_after_its_end_begins_anew(self):
        """A decoder may give up behind its first pictures: its stream ends properly, and then its sender fails."""
        self.file("red.png").write_bytes(png(RED))
        send = self.programs_with_a_script('"$SEND" "$@"; [ -e mended ] && exit 0\n'
                                           'echo "framewire-send: broken" >&2; exit 1')
        viewer = self.start(send.with_name("framewire-view"), "--layer", "red.png", "--headless", "--verbose",
                            environment=self.script_environment())
        viewer.wait_line("^framewire-view: warning: red.png: broken")
        viewer.wait_line("^red.png begins anew: frames   1 received")
        self.file("mended").touch()
        self.ends(viewer)
        viewer.wait_line("^frames   1 received, 1 shown")
        self.one_message(viewer, "red.png: broken")


    def test_a_recording_ends_with_its_source(self):
        """A source that began anew would overwrite it."""
        self.file("red.png").write_bytes(png(RED))
        send = self.programs_with_a_script('"$SEND" "$@"; echo "framewire-send: broken" >&2; exit 1')
        viewer = self.start(send.with_name("framewire-view"), "--layer", "red.png", "--headless", "--output",
                            self.file("red.rgb"), environment=self.script_environment())
        self.ends(viewer, harness.FAILED)
        viewer.wait_line("red.png has ended, and is not started again, because it is recorded")
        viewer.wait_line("^frames   1 received, 1 shown.* 1 recorded")
        self.assertGreater(self.file("red.rgb").stat().st_size, 0)


if __name__ == "__main__":
    harness.main()
