"""Bad command lines: each gets its exit status and one message, which names what failed, the value and what to do."""
import glob
import os
import unittest

import harness

SEND, VIEW = "framewire-send", "framewire-view"

# (program, arguments, exit status, text of the message)
COMMAND_LINES = [
    (SEND, [], harness.USAGE, ["SOURCE", "--help"]),
    (SEND, ["pattern", "--no-such-option"], harness.USAGE, ["--no-such-option", "--help"]),
    (SEND, ["pattern:none"], harness.USAGE, ["'pattern:none'", "pattern:bars", "pattern:stamped"]),
    (SEND, ["gl:none"], harness.USAGE, ["'?none'?", "orbit"]),
    (SEND, ["no/such/file.mkv"], harness.FAILED, ["no/such/file.mkv", "no such file"]),
    (SEND, ["gl:no/such.frag"], harness.FAILED, ["no/such.frag"]),
    (SEND, ["v4l2:/dev/no-video"], harness.FAILED, ["/dev/no-video", r"no such device; `ls /dev/video\*` shows"]),
    (SEND, ["x11grab::987654"], harness.FAILED, ["x11grab::987654", r"x11grab::0 is the display :0, see \$DISPLAY"]),
    (SEND, ["lavfi:nosuchfilter"], harness.FAILED, ["nosuchfilter"]),
    (SEND, ["pattern", "--pix-fmt", "yuv999"], harness.USAGE, ["--pix-fmt", "'yuv999'", "nv12"]),
    (SEND, ["pattern", "--pix-fmt", "bytes"], harness.USAGE, ["--pix-fmt", "bytes"]),
    (SEND, ["pattern", "--size", "0x100"], harness.USAGE, ["--size", "'0x100'", "3840x2160"]),
    (SEND, ["pattern", "--size", "100"], harness.USAGE, ["--size", "'100'", "3840x2160"]),
    (SEND, ["pattern", "--size", "99999x99999"], harness.USAGE, ["--size", "'99999x99999'", "32768"]),
    (SEND, ["pattern", "--size", "-5x10"], harness.USAGE, ["--size", "'-5x10'"]),
    (SEND, ["pattern", "--size", ""], harness.USAGE, ["--size"]),
    (SEND, ["pattern", "--fps", "0"], harness.USAGE, ["--fps", "'0'", "60"]),
    (SEND, ["pattern", "--fps", "nan"], harness.USAGE, ["--fps", "'nan'"]),
    (SEND, ["pattern", "--fps", "1e9"], harness.USAGE, ["--fps", "'1e9'"]),
    (SEND, ["pattern", "--delivery", "some"], harness.USAGE, ["--delivery", "'some'", "latest or every"]),
    (SEND, ["pattern", "--slots", "0"], harness.USAGE, ["--slots", "'0'", "1 to 64"]),
    (SEND, ["pattern", "--slots", "65"], harness.USAGE, ["--slots", "'65'", "1 to 64"]),
    (SEND, ["pattern", "--slices", "0"], harness.USAGE, ["--slices", "'0'", "auto", "1 to 64"]),
    (SEND, ["pattern", "--slices", "65"], harness.USAGE, ["--slices", "'65'"]),
    (SEND, ["pattern", "--slices", "4x"], harness.USAGE, ["--slices", "'4x'"]),
    (SEND, ["pattern", "--viewers", "many"], harness.USAGE, ["--viewers", "'many'"]),
    (SEND, ["pattern", "--transport", "pigeon"], harness.USAGE,
     ["--transport", "'pigeon'", "auto, local", "rdma", "tcp"]),
    (SEND, ["pattern", "--memory", "tape"], harness.USAGE, ["--memory", "'tape'", "host"]),
    (SEND, ["pattern", "--frames", "-1"], harness.USAGE, ["--frames", "'-1'"]),
    (SEND, ["pattern", "--duration", "1y"], harness.USAGE, ["--duration", "'1y'", "2.5s"]),
    (SEND, ["pattern", "--timeout", "soon"], harness.USAGE, ["--timeout", "'soon'"]),
    (SEND, ["pattern", "--listen", "127.0.0.1:99999"], harness.USAGE, ["'127.0.0.1:99999'", "65535"]),
    (SEND, ["pattern", "--listen", "127.0.0.1:1", "--to", "localhost"], harness.USAGE, ["--listen", "--to"]),
    (SEND, ["pattern", "--slots", "64", "--viewers", "64"], harness.USAGE, ["--slots", "64", "--viewers"]),
    (SEND, ["pattern", "--size", "64x36", "--listen", "192.0.2.1:0", "--insecure"], harness.FAILED,
     ["192.0.2.1", "--listen"]),
    (SEND, ["pattern", "--size", "64x36", "--listen", "0.0.0.0:5290"], harness.REFUSED,
     ["0.0.0.0:5290", "framewire key", "--insecure"]),
    (SEND, ["--name", "one", "--name", "one", "pattern", "pattern", "--size", "64x36"], harness.USAGE,
     ["'one' was given twice"]),
    (SEND, ["pattern", "--name", "one", "pattern", "--name", "two", "--name", "three"], harness.USAGE,
     ["3 times for 2 SOURCEs"]),
    (SEND, ["--name", "one/two", "pattern", "gl:"], harness.USAGE, ["--name", "'one/two'", "letters, digits"]),
    (SEND, ["-", "pattern", "-"], harness.USAGE, ["standard input", "'-'", "only one"]),
    (SEND, ["pattern", "gl:", "--to", "localhost"], harness.USAGE, ["--to", "2 were given", "sender for each"]),
    (SEND, ["-", "--loop"], harness.USAGE, ["--loop", "standard input"]),
    (SEND, ["gl:", "--loop"], harness.USAGE, ["--loop is for files"]),
    (SEND, ["pattern", "--size", "auto"], harness.USAGE, ["--size auto is for scenes of gl:"]),
    (SEND, ["gl:helix:9"], harness.USAGE, ["'gl:helix:9'", "it has 1, 2, 3"]),
    (SEND, ["gl:waves:1"], harness.USAGE, ["'gl:waves:1'", "the scene has none"]),
    (SEND, ["pattern", "--listen", "23541"], harness.USAGE, ["'23541' is a number", "written as :23541"]),
    (VIEW, ["a/b/c"], harness.USAGE, ["'a/b/c'", "no slash"]),
    (VIEW, ["gl:aurora"], harness.USAGE, ["'gl:aurora'", "--layer gl:aurora"]),
    (VIEW, [__file__], harness.USAGE, ["HOST is", "a source of this machine", "--layer /"]),
    (VIEW, ["ssh://big/gl:orbit?sixe=64x36"], harness.USAGE, ["no option 'sixe'", "--size"]),
    ("framewire-bench", ["--message-bytes", "2G"], harness.USAGE, ["--message-bytes", "'2G'", "to 1G"]),
    ("framewire-bench", ["--message-bytes", "x"], harness.USAGE, ["--message-bytes", "'x'", "to 1G"]),
    (VIEW, ["--no-such-option"], harness.USAGE, ["--no-such-option", "--help"]),
    (VIEW, ["one", "--layer", "-"], harness.USAGE, ["--layer is '-'", "standard input"]),
    (VIEW, ["localhost/"], harness.USAGE, ["'localhost/'", "HOST/STREAM"]),
    (VIEW, ["*:5290"], harness.USAGE, [r"'\*:5290'", "--listen"]),
    (VIEW, ["localhost:http"], harness.USAGE, ["'localhost:http'"]),
    (VIEW, ["--listen", "127.0.0.1:0", "localhost"], harness.USAGE, ["--listen", "'localhost'"]),
    (VIEW, ["--headless", "--fullscreen"], harness.USAGE, ["--headless", "--fullscreen"]),
    (VIEW, ["--headless", "--size", "12"], harness.USAGE, ["--size", "'12'"]),
    (VIEW, ["--headless", "--monitor", "1"], harness.USAGE, ["--headless", "--monitor"]),
    (VIEW, ["--monitor", "x"], harness.USAGE, ["--monitor", "'x'"]),
    (VIEW, ["--headless", "--screenshot", "shot.jpg"], harness.USAGE, ["'shot.jpg'", r"\.png"]),
    (VIEW, ["--headless", "--delivery", "most"], harness.USAGE, ["--delivery", "'most'"]),
    (VIEW, ["--headless", "--retry", "never"], harness.USAGE, ["--retry", "'never'"]),
    (SEND, ["pattern", "--encrypt", "--transport", "local"], harness.USAGE,
     ["--transport", "'local'", "--encrypt", "takes auto", r"\btcp\b"]),
    (SEND, ["pattern", "--encrypt", "--transport", "rdma"], harness.USAGE,
     ["--transport", "'rdma'", "--encrypt", "takes auto", r"\btcp\b"]),
    (SEND, ["pattern", "--encrypt", "--insecure"], harness.USAGE, ["--encrypt", "--insecure", "framewire key"]),
    (SEND, ["pattern", "--encrypt", "--allow-pull"], harness.USAGE, ["--allow-pull", "--encrypt", "one of them"]),
    (VIEW, ["--headless", "--encrypt", "--transport", "rdma"], harness.USAGE,
     ["--transport", "'rdma'", "--encrypt", "takes auto", r"\btcp\b"]),
    (VIEW, ["--headless", "--encrypt", "--pull"], harness.USAGE, ["--pull", "--encrypt", "one of them"]),
    ("rdsend", ["host", "--encrypt", "--transport", "local"], harness.USAGE,
     ["--transport", "'local'", "--encrypt", "takes auto", r"\btcp\b"]),
    ("rdsend", ["host", "--encrypt", "--transport", "rdma"], harness.USAGE,
     ["--transport", "'rdma'", "--encrypt", "takes auto", r"\btcp\b"]),
    ("rdrecv", ["--encrypt", "--transport", "rdma"], harness.USAGE,
     ["--transport", "'rdma'", "--encrypt", "takes auto", r"\btcp\b"]),
    ("framewire-bench", ["--encrypt", "--transport", "rdma"], harness.USAGE,
     ["--transport", "'rdma'", "--encrypt", "takes auto", r"\btcp\b"]),
    ("rdsend", ["localhost:0", "/etc/hostname"], harness.USAGE, ["'localhost:0'", "port 0"]),
    ("rdrecv", ["--from", "localhost:0"], harness.USAGE, ["'localhost:0'", "port 0"]),
    (VIEW, ["localhost:0"], harness.USAGE, ["'localhost:0'", "port 0"]),
    (SEND, ["pattern", "--to", "localhost:0"], harness.USAGE, ["'localhost:0'", "port 0"]),
    ("rdsend", ["localhost", "/etc/hostname", "--stats", "/etc/../etc/hostname"], harness.USAGE,
     ["--stats", "hostname'", "another file"]),
    ("rdrecv", ["not-there-yet", "--stats", "./not-there-yet"], harness.USAGE,
     ["--stats", "'./not-there-yet'", "another file"]),
    ("rdrecv", ["--fsync=no", "file"], harness.USAGE, ["fsync", "--help"]),
    ("rdrecv", ["--encrypt", "--insecure"], harness.USAGE, ["--encrypt", "--insecure", "framewire key"]),
    ("framewire-bench", ["--encrypt", "--transport", "verbs"], harness.USAGE,
     ["--transport", "'verbs'", "--encrypt", "takes auto", r"\btcp\b"]),
    ("framewire-bench", ["--encrypt", "--transport", "socket"], harness.USAGE,
     ["--transport", "'socket'", "--encrypt", "takes auto", r"\btcp\b"]),
    (SEND, ["pattern", "--allow-pull", "--transport", "tcp"], harness.USAGE,
     ["--allow-pull", "'tcp'", "takes auto", r"\brdma\b"]),
    (VIEW, ["--headless", "--pull", "--transport", "tcp"], harness.USAGE,
     ["--pull", "--transport", "'tcp'", "takes auto", r"\brdma\b"]),
    (VIEW, ["--headless", "--pull", "--delivery", "every"], harness.USAGE, ["--delivery", "every", "--pull"]),
    (VIEW, ["--headless", "--pull", "--pull-interval", "soon"], harness.USAGE, ["--pull-interval", "'soon'"]),
    (VIEW, ["--headless", "--pull", "--pull-interval", "0.5ms"], harness.USAGE, ["--pull-interval", "'0.5ms'", "1ms"]),
    (VIEW, ["--headless", "--pull-interval", "1s"], harness.USAGE, ["--pull-interval", "'1s'", "without --pull"]),
    (VIEW, ["--headless", "--memory", "cuda:"], harness.USAGE, ["--memory", "'cuda:'", "host"]),
    (VIEW, ["--headless", "--screenshot", "/no/such/folder/shot.png"], harness.FAILED, ["/no/such/folder/shot.png"]),
    (VIEW, ["--headless", "--output", "/no/such/folder/out.y4m"], harness.FAILED, ["/no/such/folder/out.y4m"]),
    (VIEW, ["--headless", "--stats", "/no/such/folder/stats.json"], harness.FAILED, ["/no/such/folder/stats.json"]),
    (VIEW, ["localhost:1"], harness.FAILED, ["display", "--headless"]),
    ("framewire-doctor", ["--transport", "pigeon"], harness.USAGE,
     ["--transport", "'pigeon'", "auto, local", "rdma", "tcp"]),
    ("framewire-doctor", ["here", "elsewhere"], harness.USAGE, ["--help"]),
    ("framewire-doctor", ["big:x"], harness.USAGE, ["'big:x'"]),
    ("framewire-doctor", ["--insecure"], harness.USAGE, ["--insecure", "HOST"]),
    ("framewire", [], harness.USAGE, []),
    ("framewire", ["sned"], harness.USAGE, ["'sned' is no subcommand", "'framewire send'"]),
    ("framewire", ["nonsense"], harness.USAGE, ["'nonsense' is no subcommand", "--help"]),
    ("framewire", ["help", "nonsense"], harness.USAGE, ["'nonsense' is no subcommand", "--help"]),
    ("framewire", ["help", "veiw"], harness.USAGE, ["'veiw' is no subcommand", "'framewire view'"]),
    (SEND, ["pattern", "--formt", "bgra"], harness.USAGE, ["no option '--formt'", "--input-format|--help"]),
    (VIEW, ["--headles"], harness.USAGE, ["no option '--headles'", "--headless"]),
    ("rdpipe", ["--verbos"], 125, ["no option '--verbos'", "did you mean --verbose"]),
    ("rdsend", ["box", "--chekcsum"], harness.USAGE, ["no option '--chekcsum'"]),
    ("rdsend", [], harness.USAGE, ["^rdsend: HOST is missing", "--listen"]),
    ("rdpipe", [], 125, ["^rdpipe: no stage was given"]),
    ("rdrecv", ["one", "two"], harness.USAGE, ["'two' is one argument too many", "rdrecv --help"]),
    ("framewire", ["../bin/framewire-send"], harness.USAGE, ["--help"]),
]


class BadCommandLines(harness.EndToEnd):
    def test_help_whose_reader_has_read_enough(self):
        for program in (SEND, VIEW, "rdpipe", "framewire-doctor"):
            with self.subTest(program):
                reads, writes = os.pipe()
                os.close(reads)
                asked = self.start(harness.BIN / program, "--help", stdout=writes)
                os.close(writes)
                self.ends(asked)
                self.assertEqual(asked.text, "")

    def test_a_folder_of_the_path_that_nobody_may_look_into(self):
        """execvp() then fails with EACCES for all users but root, which hides that there is no such subcommand."""
        folder = self.file("closed")
        folder.mkdir(mode=0)
        self.addCleanup(folder.chmod, 0o700)
        program = self.start(harness.BIN / "framewire", "sned", environment=self.environment(PATH=f"{folder}:/usr/bin"))
        self.ends(program, harness.USAGE)
        self.one_message(program, "'sned' is no subcommand", "'framewire send'")

    def test_each_gets_its_status_and_one_error(self):
        for name, arguments, status, wanted in COMMAND_LINES:
            with self.subTest(f"{name} {' '.join(arguments)}"):
                program = self.start(harness.BIN / name, *arguments)
                self.ends(program, status)
                if wanted:
                    self.one_message(program, *wanted)
                    self.assertLessEqual(len(program.lines), 2, program.text)  # the line before may name a source

    @unittest.skipIf(glob.glob("/sys/class/infiniband/*"), "this machine has an RDMA device")
    def test_rdma_without_a_device_says_what_to_do(self):
        for name, arguments in ((SEND, ["pattern", "--listen", "127.0.0.1:0"]), (VIEW, ["--headless", "localhost:1"])):
            program = self.start(harness.BIN / name, *arguments, "--transport", "rdma")
            self.ends(program, harness.FAILED)
            self.one_message(program, "no RDMA device", "framewire doctor", "--transport auto")

    def test_help_of_a_subcommand(self):
        """As git does: the help of that program, not the general one."""
        for name in ("send", "view", "bench", "doctor", "key"):
            said = {}
            for words in (["framewire", "help", name], [f"framewire-{name}", "--help"]):
                with self.file("stdout").open("wb") as stdout:
                    self.ends(self.start(harness.BIN / words[0], *words[1:], stdout=stdout))
                said[words[0]] = self.file("stdout").read_text()
            self.assertEqual(said["framewire"], said[f"framewire-{name}"])

    def test_help_and_version_are_no_errors(self):
        for name in (SEND, VIEW, "framewire", "framewire-bench", "framewire-key", "framewire-doctor"):
            for option in ("--help", "--version"):
                with self.file("stdout").open("wb") as stdout:
                    program = self.start(harness.BIN / name, option, stdout=stdout)
                    self.ends(program)
                self.assertEqual(program.lines, [])
                self.assertIn(b"framewire", self.file("stdout").read_bytes())


if __name__ == "__main__":
    harness.main()
