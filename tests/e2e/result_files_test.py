"""No result (--stats, --output …) destroys another file of its command line, and one that cannot be written is found
out before the program does anything."""
import os
import re
import subprocess

import harness

SEND, VIEW = harness.BIN / "framewire-send", harness.BIN / "framewire-view"
NOWHERE = "127.0.0.1:1"  # where no sender is
ANYWHERE = "127.0.0.1:0"
MOST_LETTERS = 80  # of a name in a message
PATTERN = [SEND, "--listen", ANYWHERE, "pattern"]
SHADER = "void mainImage(out vec4 fragColor, in vec2 fragCoord) { fragColor = vec4(1.0); }\n"
SCENE = '[[layer]]\nlocal = "film.mkv"\n'


def said_of(name) -> str:
    """A pattern of a name's end in a message, which cuts long ones: folders for temporary files may have any name."""
    return re.escape(str(name)[:MOST_LETTERS]) + ("'" if len(str(name)) <= MOST_LETTERS else "…'")


class ResultFiles(harness.EndToEnd):
    def setUp(self):
        super().setUp()
        for name, text in (("film.mkv", "pictures"), ("sc.frag", SHADER), ("s.toml", SCENE), ("k", "ab" * 32 + "\n")):
            self.file(name).write_text(text)
            self.file(name).chmod(0o600)
        self.file("here").symlink_to(".")
        self.file("link").symlink_to("film.mkv")
        os.link(self.file("film.mkv"), self.file("hard"))
        self.texts = self.all_texts()

    def all_texts(self) -> dict:
        return {path.name: path.read_text() for path in self.folder.iterdir() if path.is_file()}

    def refused(self, *arguments, wanted, **options):
        """The program says so, and has changed and made no file."""
        with self.subTest([str(argument) for argument in arguments]):
            program = self.start(*arguments, **options)
            self.ends(program, harness.USAGE)
            said = self.one_message(program, *wanted, "name another file")
            self.assertLessEqual(len(said.split()), 1 + 25, said)
            self.assertEqual(self.all_texts(), self.texts)

    def test_a_sender_keeps_what_it_sends(self):
        for source, stats in (("film.mkv", "film.mkv"), ("film.mkv", "here/film.mkv"), ("link", "hard"),
                              ("file:film.mkv", "link"), ("gl:sc.frag", "sc.frag"), ("gl:sc.frag:1", "sc.frag"),
                              ("gl:here/sc.frag", self.file("sc.frag"))):
            self.refused(*PATTERN, source, "--stats", stats,
                         wanted=[f"--stats '.*{said_of(stats)}", f"SOURCE '{source}'"])
        for source in ("-", "/dev/stdin", "pipe:0"):
            with self.file("film.mkv").open("r+") as film:
                self.refused(SEND, "--listen", ANYWHERE, source, "--stats", "film.mkv", stdin=film,
                             wanted=["--stats", f"SOURCE '{source}'"])

    def test_a_sender_keeps_its_key_and_its_programs_files(self):
        self.refused(*PATTERN, "--key", "k", "--stats", "k", wanted=["--stats 'k'", "--key 'k'"])
        config = self.home / ".config" / "framewire"
        config.mkdir(parents=True)
        self.refused(*PATTERN, "--stats", config / "key", wanted=["--stats", "--key"])
        with self.file("film.mkv").open("r+") as film:
            for option in ("--events", "--messages"):
                self.refused(*PATTERN, option, film.fileno(), "--stats", "film.mkv", pass_fds=[film.fileno()],
                             wanted=["--stats 'film.mkv'", f"{option} '{film.fileno()}'"])
            self.refused(*PATTERN, "--events", "-", "--stats", "/dev/stdout", stdout=film,
                         wanted=["--stats '/dev/stdout'", "--events"])

    def test_a_viewer_keeps_what_it_shows(self):
        for option in ("--stats", "--output", "--frame-times"):
            self.refused(VIEW, "--layer", "film.mkv", "--headless", option, "film.mkv",
                         wanted=[f"{option} 'film.mkv'", "--layer 'film.mkv'"])
            self.refused(VIEW, "--layer", "gl:sc.frag", "--headless", option, "sc.frag",
                         wanted=[option, "--layer 'gl:sc.frag'"])
            self.refused(VIEW, "--scene", "s.toml", "--headless", option, "s.toml",
                         wanted=[f"{option} 's.toml'", "--scene 's.toml'"])
            self.refused(VIEW, "--scene", "here/s.toml", "--headless", option, "film.mkv",
                         wanted=[f"{option} 'film.mkv'", "the scene's source 'film.mkv'"])
            self.refused(VIEW, NOWHERE, "--headless", "--key", "k", option, "k", wanted=[f"{option} 'k'", "--key 'k'"])

    def test_results_of_a_viewer_are_several_files(self):
        for one, other in ((["--output", "o.y4m"], ["--stats", "o.y4m"]), (["--output", "./o.y4m"],
                           ["--frame-times", "here/o.y4m"]), (["--screenshot", "p.png"], ["--stats", "p.png"]),
                           (["--screenshot", "p.png"], ["--frame-times", "p.png"]),
                           (["--stats", "q"], ["--frame-times", "q"])):
            self.refused(VIEW, NOWHERE, "--headless", *one, *other,
                         wanted=[f"{option} '{name}'" for option, name in (one, other)])
        output = subprocess.PIPE
        self.refused(VIEW, NOWHERE, NOWHERE, "--headless", "--output", "-", "--stats", "/dev/stdout", stdout=output,
                     wanted=["--stats '/dev/stdout'", "--output '-'"])
        self.programs[-1].process.stdout.close()

    def test_other_programs(self):
        self.refused(harness.BIN / "framewire-bench", "article", "--key", "k", "--plot", "k",
                     wanted=["--plot 'k'", "--key 'k'"])
        for name in ("rdsend", "rdrecv"):
            host = [NOWHERE] if name == "rdsend" else ["--from", NOWHERE]
            self.refused(harness.BIN / name, *host, "film.mkv", "--stats", "link",
                         wanted=["--stats 'link'", "FILE 'film.mkv'"])
            self.refused(harness.BIN / name, *host, "--key", "k", "--stats", "k", wanted=["--stats 'k'", "--key 'k'"])

    def test_what_is_no_file_may_stand_twice(self):
        viewer = self.start(VIEW, NOWHERE, "--headless", "--duration", "100ms", "--stats", "/dev/null",
                            "--frame-times", "/dev/null", "--output", "/dev/null")
        self.ends(viewer, harness.LOST)
        sender = self.start(SEND, "pattern", "--size", "64x36", "--frames", "1", "--listen", ANYWHERE, "--stats",
                            "pattern")
        sender.wait_line("^listening on")
        sender.interrupt()
        self.ends(sender)
        self.assertIn("pattern", self.all_texts())

    def test_a_result_that_cannot_be_written_is_an_error_at_the_start(self):
        """Senders and viewers would wait for ever."""
        long_name = "q" * 300
        for option in ("--stats", "--frame-times", "--output", "--screenshot"):
            for name in (long_name + ".png", f"{long_name}/p.png", "film.mkv/p.png"):
                viewer = self.start(VIEW, NOWHERE, "--headless", option, name)
                self.ends(viewer, harness.FAILED)
                self.one_message(viewer, f"{option} is '", "cannot be written", "too long|Not a directory")
        for program, peer in ((SEND, "pattern"), (VIEW, NOWHERE), (harness.BIN / "rdrecv", "sink")):
            headless = ["--headless"] if program == VIEW else []
            for name, why in ((long_name, "too long"), ("/dev/tty", "No such device or address")):
                started = self.start(program, peer, *headless, "--stats", name)
                self.ends(started, harness.FAILED)
                self.one_message(started, "--stats is '", "cannot be written", why)
        self.assertEqual(self.all_texts(), self.texts)

    def test_a_named_pipe_needs_no_reader_at_the_start(self):
        os.mkfifo(self.file("pipe"))
        viewer = self.start(VIEW, NOWHERE, "--headless", "--duration", "100ms", "--stats", "pipe")
        viewer.wait_end()
        self.assertRegex(viewer.text, "nobody reads the statistics from the named pipe 'pipe'")


if __name__ == "__main__":
    harness.main()
