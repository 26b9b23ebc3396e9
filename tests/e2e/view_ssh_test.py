"""framewire view ssh://HOST/SOURCE: the viewer starts the sender on another host by ssh, and ends it.

All hosts are this machine: a private sshd on loopback.
"""
import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import socket
import tempfile
import unittest
import uuid

import harness
import machines
import pictures
import private_sshd
from local_layers_test import BLUE, GREEN, RED, is_alive, is_near, png
from pipelines import of_process, processes_with

PATTERN = "ssh://host1/pattern?size=64x36&fps=20"
SILENT_S = 20 * harness.TIMEOUT_SCALE  # longer than sender and viewer take to notice a silent host


class SshTest(harness.EndToEnd):
    """The environment of every process on the hosts has `mark`."""

    def view_by_ssh(self, *arguments, sshd=None, **options) -> harness.Program:
        """sshd begins in the user's home, and the test's files lie in another one."""
        program = () if "--send-path" in arguments else ("--send-path", "cd; framewire-send")
        return self.view("-F", (sshd or self.sshd).client_config, *program, *arguments, **options)

    def senders(self) -> list[int]:
        """The living framewire-send on all hosts."""
        return [pid for pid, line in processes_with(self.mark).items() if "framewire-send" in line.split(" ")[0]]

    def wait_sender(self, *, other_than: int = 0) -> int:
        return harness.wait_until(lambda: [pid for pid in self.senders() if pid != other_than], "a sender")[0]

    def wait_no_sender(self, seconds: float = harness.WATCHDOG_S):
        harness.wait_until(lambda: not self.senders(), "the senders to end", seconds)

    def wait_no_family(self, viewer: harness.Program):
        """Until nothing of a viewer that was killed is left: its ssh, and that ssh's own ssh to a jump host."""
        harness.wait_until(lambda: not viewer.family(), "the viewer's ssh to end")

    def wait_frames(self, viewer: harness.Program, after: int = 0):
        """Until a session has begun; the viewer is verbose."""
        viewer.wait_line("the stream's pictures", after=after)

    def fails_with(self, viewer: harness.Program, pattern: str, status: int = harness.FAILED):
        """It ends by itself, with one message."""
        self.ends(viewer, status)
        self.assertEqual(len(viewer.complaints()), 1, viewer.text)
        self.assertRegex(viewer.complaints()[0], pattern)
        self.wait_no_sender()
        self.assertEqual(viewer.family(), [])


@unittest.skipIf(private_sshd.MISSING, private_sshd.MISSING)
class ViewSsh(SshTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="framewire-sshd-")
        cls.addClassCleanup(folder.cleanup)
        cls.mark = f"FRAMEWIRE_TEST_MARK={uuid.uuid4().hex}"
        cls.sshd = private_sshd.PrivateSshd(pathlib.Path(folder.name), ("host1", "host2"), mark=cls.mark)
        cls.addClassCleanup(cls.sshd.stop)

    def ssh_of(self, viewer: harness.Program) -> int:
        return next(pid for pid in viewer.family() if of_process(pid, "cmdline").startswith("ssh\0"))

    # ---- Pictures ----

    def test_a_picture_arrives(self):
        viewer = self.view_by_ssh(PATTERN, "--frames", "5")
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])
        self.assertGreaterEqual(self.stats(viewer)["frames_received"], 5)
        self.assertRegex(viewer.text, "transport=local memory=host auth=psk")
        self.wait_no_sender()

    def test_a_source_that_ends(self):
        """Over tcp, and encrypted."""
        (self.sshd.home / "red.png").write_bytes(png(RED))
        viewer = self.view_by_ssh("ssh://host1/red.png", "--transport", "tcp", "--encrypt", "--screenshot", "now.png")
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])
        self.assertRegex(viewer.text, "transport=tcp .*auth=psk control=tls1.3 frames=tls")
        self.assertTrue(is_near(pictures.read_png(self.file("now.png")).at(0.5, 0.5), RED))
        self.wait_no_sender()

    def test_names_of_files(self):
        for name, path in (("-a b%.png", "-a%20b%25.png"), ("it's $HOME;`x`.png", "it's%20$HOME;`x`.png")):
            with self.subTest(name):
                (self.sshd.home / name).write_bytes(png(GREEN))
                viewer = self.view_by_ssh(f"ssh://host1/{path}", "--frames", "1")
                self.ends(viewer)
                self.assertEqual(viewer.complaints(), [])
        self.file("an absolute path.png").write_bytes(png(GREEN))
        self.ends(self.view_by_ssh(f"ssh://host1/{self.file('an absolute path.png')}", "--frames", "1"))

    def test_a_scene_that_is_rendered_there(self):
        self.ends(self.view_by_ssh("ssh://host1/gl:orbit?size=64x36&fps=30&pix_fmt=nv12", "--frames", "3"))

    def test_two_hosts_and_a_layer_of_this_machine(self):
        (self.sshd.home / "red.png").write_bytes(png(RED))
        (self.sshd.home / "green.png").write_bytes(png(GREEN))
        self.file("blue.png").write_bytes(png(BLUE))
        viewer = self.view_by_ssh("ssh://host1/red.png", "ssh://host2/green.png", "--layer", "blue.png", "--layout",
                                  "side", "--screenshot", "now.png", "--size", "480x90")
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])
        picture = pictures.read_png(self.file("now.png"))
        for place, colour in enumerate((RED, GREEN, BLUE)):
            at = picture.at((2 * place + 1) / 6, 0.5)
            self.assertTrue(is_near(at, colour), at)
        self.wait_no_sender()

    def test_a_scene_file(self):
        (self.sshd.home / "red.png").write_bytes(png(RED))
        self.file("scene.toml").write_text("[[layer]]\nsource = 'ssh://host1/red.png?loop'\n")
        viewer = self.view_by_ssh("--scene", "scene.toml", "--verbose")
        self.wait_frames(viewer)
        sender = self.wait_sender()
        self.file("new.toml").write_text("[[layer]]\nsource = 'ssh://host1/red.png?loop'\nopacity = 0.5\n"
                                         "[[layer]]\nsource = 'ssh://host2/pattern?size=64x36'\n")
        self.file("new.toml").rename(self.file("scene.toml"))
        viewer.wait_line("^ssh://host2/pattern: the stream's pictures")
        self.assertIn(sender, self.senders(), "it goes on")
        self.file("new.toml").write_text("[[layer]]\nsource = 'ssh://host2/pattern?size=64x36'\n")
        self.file("new.toml").rename(self.file("scene.toml"))
        harness.wait_until(lambda: not is_alive(sender), "the end of the sender that is not shown any more")
        self.assertEqual(viewer.complaints(), [])
        viewer.interrupt()
        self.ends(viewer)
        self.wait_no_sender()

    # ---- The end ----

    def test_kill_9_of_the_viewer(self):
        viewer = self.view_by_ssh(PATTERN, "--verbose")
        self.wait_frames(viewer)
        self.wait_sender()
        viewer.kill()
        self.wait_no_sender()
        self.wait_no_family(viewer)

    def test_kill_9_of_the_viewer_behind_a_jump_host(self):
        viewer = self.view_by_ssh(PATTERN, "-o", "ProxyJump=host2", "--verbose")
        self.wait_frames(viewer)
        self.wait_sender()
        viewer.kill()
        self.wait_no_sender()
        self.wait_no_family(viewer)

    def test_a_viewer_that_is_stopped(self):
        """Its ssh still answers. When it goes on it starts another sender."""
        viewer = self.view_by_ssh(PATTERN, "--verbose")
        self.wait_frames(viewer)
        self.wait_sender()
        viewer.pause()
        self.wait_no_sender(SILENT_S + harness.WATCHDOG_S)
        before = len(viewer.lines)
        viewer.go_on()
        viewer.wait_line("warning: .*the viewer has said nothing for 20 s.*the viewer starts it again", after=before)
        self.wait_sender()
        viewer.wait_line("^transport=", after=before)
        viewer.interrupt()
        self.ends(viewer)
        self.wait_no_sender()

    def test_ctrl_c(self):
        """In a terminal it reaches ssh, too."""
        viewer = self.view_by_ssh(PATTERN, terminal=True)
        viewer.wait_line("shown [1-9]")
        os.killpg(viewer.pid, signal.SIGINT)
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])
        self.wait_no_sender()

    def test_ctrl_c_while_ssh_connects(self):
        """A port that says nothing, as of a host behind a slow network."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            viewer = self.view_by_ssh(f"ssh://127.0.0.1:{silent.getsockname()[1]}/pattern", "--verbose")
            connection, _ = silent.accept()
            with connection:
                viewer.interrupt()
                self.ends(viewer)
        self.assertEqual(viewer.family(), [])
        self.assertEqual(viewer.complaints(), [])

    def test_ssh_or_its_session_is_killed(self):
        """The sender ends, and the viewer starts another one."""
        viewer = self.view_by_ssh(PATTERN, "--verbose")
        before = 0
        for kill in (self.ssh_of, lambda _: self.sshd_session()):
            self.wait_frames(viewer, after=before)
            sender = self.wait_sender()
            before = len(viewer.lines)
            os.kill(kill(viewer), signal.SIGKILL)
            harness.wait_until(lambda: not is_alive(sender), "the sender to end")
            viewer.wait_line("ssh://host1/pattern: the connection to host1.* is gone", after=before)
            self.wait_sender(other_than=sender)
            viewer.wait_line("^transport=", after=before)
        viewer.interrupt()
        self.ends(viewer)
        self.wait_no_sender()

    def sshd_session(self) -> int:
        """sshd's process of the session that has the sender: the parent of the shell, or of the sender."""
        pid = self.wait_sender()
        while "sshd" not in of_process(pid, "comm"):
            pid = int(of_process(pid, "stat").rpartition(")")[2].split()[1])
        return pid

    def test_a_sender_that_is_killed(self):
        viewer = self.view_by_ssh(PATTERN, "--verbose")
        self.wait_frames(viewer)
        sender = self.wait_sender()
        before = len(viewer.lines)
        os.kill(sender, signal.SIGKILL)
        self.wait_sender(other_than=sender)
        viewer.wait_line("^transport=", after=before)
        viewer.interrupt()
        self.ends(viewer)
        self.wait_no_sender()

    # ---- Questions ----

    def test_a_question_on_the_terminal(self):
        """ssh asks there about a host's key, and the frames come once the user has answered."""
        command = [harness.BIN / "framewire-view", "-F", self.sshd.client_config, "-o", "StrictHostKeyChecking=ask",
                   "-o", "BatchMode=no", "-o", f"UserKnownHostsFile={self.file('known_hosts')}", PATTERN,
                   "--headless", "--frames", "1"]
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(command[0], [str(word) for word in command], self.environment())
        self.addCleanup(self.end_terminal, pid, terminal)
        said = b""
        while b"(yes/no" not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, b"yes\n")
        with contextlib.suppress(OSError):  # EIO: it has ended
            while some := os.read(terminal, 4096):
                said += some
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), harness.OK, said.decode())
        self.assertIn(b"transport=local", said)

    def end_terminal(self, pid: int, terminal: int):
        os.close(terminal)
        with contextlib.suppress(ChildProcessError, ProcessLookupError):  # it has ended
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def test_nobody_can_answer(self):
        """Without a terminal ssh does not wait for an answer."""
        viewer = self.view_by_ssh("-o", "StrictHostKeyChecking=ask", "-o", "BatchMode=no", "-o",
                                  f"UserKnownHostsFile={self.file('known_hosts')}", PATTERN)
        self.fails_with(viewer, "ssh does not reach host1: Host key verification failed")

    # ---- What fails ----

    def test_a_host_key_that_has_changed(self):
        known = self.file("known_hosts")
        other = (self.sshd.folder / "user_key.pub").read_text().split()
        known.write_text(f"[127.0.0.1]:{self.sshd.port} {other[0]} {other[1]}\n")
        viewer = self.view_by_ssh("-o", f"UserKnownHostsFile={known}", PATTERN)
        self.fails_with(viewer, r"ssh://host1/pattern: ssh does not reach host1: Host key verification failed\.")
        self.assertIn("REMOTE HOST IDENTIFICATION HAS CHANGED", viewer.text)

    def test_a_user_who_may_not_come_in(self):
        self.fails_with(self.view_by_ssh("-o", "PubkeyAuthentication=no", PATTERN),
                        "ssh does not reach host1: .*Permission denied")

    def test_an_unknown_host(self):
        self.fails_with(self.view_by_ssh("ssh://no-such-host.invalid/pattern"),
                        "ssh does not reach no-such-host.invalid: .*Could not resolve")

    def test_nothing_listens(self):
        """One source: the user wants to know. With --retry the viewer waits for the host."""
        port = self.refusing_port()
        self.fails_with(self.view_by_ssh(f"ssh://127.0.0.1:{port}/pattern"), "ssh does not reach .*Connection refused")
        viewer = self.view_by_ssh(f"ssh://127.0.0.1:{port}/pattern", "--retry", "3s")
        viewer.wait_line("Connection refused .the viewer starts it again")
        self.ends(viewer, harness.LOST)

    def test_no_framewire_there(self):
        with tempfile.TemporaryDirectory(prefix="framewire-sshd-") as folder:
            sshd = private_sshd.PrivateSshd(pathlib.Path(folder), path="/usr/bin:/bin", mark=self.mark)
            self.addCleanup(sshd.stop)
            self.fails_with(self.view_by_ssh(PATTERN, sshd=sshd),
                            "framewire-send was not found on host1; install .* or give its path by --send-path")
            self.ends(self.view_by_ssh(PATTERN, "--send-path", harness.BIN.resolve() / "framewire-send", "--frames",
                                       "1", sshd=sshd))

    def test_another_program_there(self):
        self.fails_with(self.view_by_ssh(PATTERN, "--send-path", "echo"),
                        "ssh host1 ended with status 0 before framewire-send")

    def program_there(self, name: str, script: str) -> pathlib.Path:
        """A shell script in place of framewire-send. `hello` says hello as that does, and waits for the plan."""
        hello = json.dumps({"type": "hello", "protocol": 2, "version": "1", "machine": "", "reached_at": ""})
        program = self.file(name)
        function = f"hello() {{ echo '{hello}'; head -n 1 >/dev/null; }}"
        program.write_text(f"#!/bin/sh\n{function}\ncd {self.folder}\n{script}\n")
        program.chmod(0o700)
        return program

    def wait_nothing_there(self):
        """Everything that sshd has started has ended, but for sshd itself."""
        harness.wait_until(lambda: not [line for line in processes_with(self.mark).values() if "sshd" not in line],
                           "the end of what ssh has started")

    def test_a_shell_is_not_told_the_key(self):
        """As one that a user's configuration starts, and that never comes to framewire-send."""
        given = self.file("given")
        viewer = self.view_by_ssh(PATTERN, "--send-path", self.program_there("shell", "echo Welcome; exec cat >given"))
        harness.wait_until(given.exists, "the shell to read")
        viewer.interrupt()
        self.ends(viewer)
        self.wait_nothing_there()
        self.assertEqual(given.read_bytes(), b"")

    def test_a_host_that_says_very_much(self):
        """Ctrl-C ends the viewer all the same."""
        flood = self.program_there("flood", "hello; touch begins; exec yes '{\"type\":\"alive\"}'")
        viewer = self.view_by_ssh(PATTERN, "--send-path", flood)
        harness.wait_until(self.file("begins").exists, "the flood")
        harness.wait_until(lambda: self.written_by("yes") > 200_000, "more than fits into the pipes")
        viewer.interrupt()
        self.ends(viewer)
        self.assertEqual(viewer.complaints(), [])
        self.wait_nothing_there()

    def written_by(self, name: str) -> int:
        """How many bytes the processes of that name on the hosts have written."""
        written = [re.search(r"wchar: (\d+)", of_process(pid, "io"))
                   for pid, line in processes_with(self.mark).items() if line.startswith(name)]
        return sum(int(one.group(1)) for one in written if one)

    def test_a_host_that_says_what_is_wrong(self):
        for said, pattern in (("hello; exec tr '\\0' x </dev/zero", "it says 'x+.*' and more, which is no message"),
                              ("exec tr '\\0' x </dev/zero", "it says 'x+.*' and more, which is no message"),
                              ("exec yes Welcome", "it says 'Welcome', which is no message of framewire; check --send"),
                              ("hello; echo '{\"type\":\"listening\",\"port\":0}'; exec cat",
                               "the other host says that it listens on port 0, which is not 1 to 65535")):
            with self.subTest(said):
                self.fails_with(self.view_by_ssh(PATTERN, "--send-path", self.program_there("wrong", said)), pattern)
                self.wait_nothing_there()

    def test_a_source_that_does_not_exist(self):
        self.fails_with(self.view_by_ssh("ssh://host1/none.mkv"),
                        "ssh://host1/none.mkv: cannot open 'none.mkv': there is no such file")

    def test_options_that_are_wrong(self):
        self.fails_with(self.view_by_ssh("ssh://host1/pattern?fps=0"), "--fps is '0'; it takes", harness.USAGE)
        viewer = self.view_by_ssh("ssh://host1/pattern?listen=x")
        self.fails_with(viewer, "it has no option 'listen'; a source takes --size, --fps",
                        harness.USAGE)

    def test_one_of_several_fails(self):
        """Its place says why, and the other one goes on."""
        viewer = self.view_by_ssh("ssh://host1/none.mkv", PATTERN, "--verbose", "--layout", "side")
        viewer.wait_line("warning: ssh://host1/none.mkv: cannot open 'none.mkv'.*starts it again")
        viewer.wait_line("^ssh://host1/pattern: the stream's pictures")
        viewer.interrupt()
        self.ends(viewer, harness.FAILED)
        self.wait_no_sender()

    def test_a_greeting_of_the_shell(self):
        """What a startup file prints is no message, and a terminal does not get its control characters."""
        (self.sshd.home / ".bashrc").write_text("echo hello; printf 'a\\033]0;b\\n' >&2\n")
        self.addCleanup((self.sshd.home / ".bashrc").unlink)
        viewer = self.view_by_ssh(PATTERN, "--frames", "1")
        self.ends(viewer)
        self.assertNotIn("\033]0", viewer.text)

    def test_the_key_is_nowhere_to_be_seen(self):
        viewer = self.view_by_ssh(PATTERN, "--verbose")
        self.wait_frames(viewer)
        for pid in (self.wait_sender(), self.ssh_of(viewer)):
            shown = of_process(pid, "cmdline") + of_process(pid, "environ").replace(self.mark, "")
            self.assertIsNone(re.search(r"[0-9a-f]{64}", shown), shown)
            self.assertNotIn("pattern", shown)
        viewer.interrupt()
        self.ends(viewer)


class SenderOfAViewer(harness.EndToEnd):
    """framewire-send --started-by-viewer, without ssh."""

    def run_with(self, given: bytes) -> harness.Program:
        """Its standard input ends at once if nothing is given; else it stays open."""
        reads, writes = os.pipe()
        with open(reads, "rb") as plan, open(writes, "wb") as viewer, self.file("output").open("wb") as output:
            viewer.write(given)
            viewer.flush()
            if not given:
                viewer.close()
            return self.run_to_end(harness.BIN / "framewire-send", "--started-by-viewer", stdin=plan, stdout=output)

    def test_a_viewer_that_leaves_at_once(self):
        sender = self.run_with(b"")
        self.assertEqual(sender.wait_end(), harness.OK, sender.text)
        self.assertEqual(sender.text, "")
        self.assertEqual(json.loads(self.file("output").read_text())["type"], "hello")

    def test_what_is_no_plan(self):
        for given in (b"noise\n", b'{"type":"hello"}\n', b'{"type":"plan","protocol":9}\n',
                      b'{"type":"plan","protocol":1,"words":[],"key":""}\n',
                      b'{"type":"plan","protocol":2,"words":["zz"],"key":""}\n'):
            with self.subTest(given):
                sender = self.run_with(given)
                self.assertEqual(sender.wait_end(), harness.FAILED, sender.text)
                self.assertEqual(len(sender.complaints()), 1, sender.text)


@unittest.skipUnless(not private_sshd.MISSING and os.getuid() == 0 and machines.are_possible(),
                     "an sshd in a network namespace of its own needs root")
class ViewSshMachines(machines.TwoMachines, SshTest):
    """Machine 0 has the viewer, machine 1 the sshd."""

    def setUp(self):
        super().setUp()
        self.mark = f"FRAMEWIRE_TEST_MARK={uuid.uuid4().hex}"
        self.sshd = private_sshd.PrivateSshd(self.folder, hosts=("host1", "host2"), address=machines.ADDRESSES[1],
                                             prefix=tuple(self.within(1)), mark=self.mark)
        self.addCleanup(self.sshd.stop)

    def silence(self, machine: int):
        self.on(machine, "nft", "add table inet fw; " + "; ".join(
            f"add chain inet fw {way} {{ type filter hook {way} priority 0; policy drop; }}"
            for way in ("input", "output")))

    def test_a_jump_host_that_loses_the_viewer(self):
        """The sender's own connection is with the jump host, and goes on."""
        viewer = self.view_by_ssh(PATTERN, "-o", "ProxyJump=host2", "--verbose", prefix=self.within(0))
        self.wait_frames(viewer)
        ends = re.search("SSH_CONNECTION=([^\0]+)", of_process(self.wait_sender(), "environ")).group(1).split()
        self.assertEqual((ends[0], ends[2]), (machines.ADDRESSES[1], machines.ADDRESSES[1]))
        self.silence(0)
        self.wait_no_sender(SILENT_S + harness.WATCHDOG_S)
        viewer.wait_line("warning: .*: the connection to host1.* is gone", SILENT_S)
        before = len(viewer.lines)
        self.on(0, "nft", "delete", "table", "inet", "fw")
        self.wait_sender()
        viewer.wait_line("^transport=", after=before)
        viewer.interrupt()
        self.ends(viewer)
        self.wait_no_sender()

    def test_a_host_that_falls_silent(self):
        for silent in (0, 1):
            with self.subTest(silent):
                viewer = self.view_by_ssh(PATTERN, "--verbose", prefix=self.within(0))
                viewer.wait_line("transport=tcp .*auth=psk control=tls1.3")
                self.wait_frames(viewer)
                self.wait_sender()
                self.silence(silent)
                self.wait_no_sender(SILENT_S)
                viewer.wait_line("warning: .*: the connection to host1.* is gone", SILENT_S)
                viewer.interrupt()
                self.ends(viewer, harness.FAILED)
                self.on(silent, "nft", "delete", "table", "inet", "fw")


if __name__ == "__main__":
    harness.main()
