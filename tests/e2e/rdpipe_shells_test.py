"""rdpipe with the shell's startup files and ssh's configuration on both sides."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import harness
from pipelines import OWN_FAILURE, PipelineTest, of_process


class PipeShells(PipelineTest):
    def tearDown(self):
        (self.sshd.home / ".bashrc").unlink(missing_ok=True)
        super().tearDown()

    def startup_file(self, text: str):
        """Writes the startup file of the shells that sshd starts (bash)."""
        (self.sshd.home / ".bashrc").write_text(text + "\n")

    def test_a_startup_file_that_prints(self):
        for text in ("echo welcome", "printf 'no end of a line'", r"printf '\033]0;%s\007' title", "seq 300"):
            with self.subTest(text):
                self.startup_file(f"{text}\nexport SET_THERE=here")
                self.assertEqual(self.run_pipe("host1:cat; echo $SET_THERE", "host2:cat", given=b"through "),
                                 b"through here\n")

    def test_a_startup_file_that_reads(self):
        """It gets nothing of the plan, which comes only once the agent has said hello."""
        for text in ("read -t 1 -n 3 some", "read -t 1 line"):
            with self.subTest(text):
                self.startup_file(f"{text}; export SET_THERE=\"<$some$line>\"")
                self.assertEqual(self.run_pipe("host1:cat; echo $SET_THERE", given=b"through "), b"through <>\n")

    def liar(self, *messages: dict) -> pathlib.Path:
        """A program that replaces the stage process: it prints `messages` and ends."""
        program = self.file("liar")
        lines = "\\n".join(json.dumps(message) for message in messages)
        program.write_text(f"#!/bin/sh\nprintf '%b\\n' '{lines}'\n")
        program.chmod(0o700)
        return program

    def test_a_stage_that_is_done_and_has_done_nothing(self):
        hello = {"type": "hello", "protocol": 1, "version": "1", "machine": "m", "reached_at": "", "addresses": []}
        ended = {"type": "command_ended", "status": 0, "signal": 0, "stopped": False}
        for messages in ([{"type": "done"}], [hello, {"type": "done"}], [hello, ended, {"type": "done"}]):
            with self.subTest(len(messages)):
                self.no_command_runs("--rdpipe-path", f"{self.liar(*messages)} #", "host1:RUN")
                self.rdpipe_says("stage 1 .*it ended without having done its part")

    def test_a_program_that_says_nothing(self):
        self.no_command_runs("--rdpipe-path", "true #", "host1:RUN")
        self.rdpipe_says("ended before rdpipe could start there, with status 0")

    def test_a_program_that_never_says_anything(self):
        """ssh may be waiting for a password or the network, so rdpipe waits, and says so once."""
        self.program = self.rdpipe("--rdpipe-path", "cat >/dev/null #", "host1:cat")
        self.program.wait_line("^stage 1 .*nothing is heard of rdpipe there so far.*--rdpipe-path")
        time.sleep(2)  # several more checks by rdpipe
        self.program.interrupt()
        self.ends_soon(128 + signal.SIGINT)
        self.assertEqual(sum("so far" in line for line in self.program.lines), 1, self.program.text)

    def test_a_stage_that_stands_still_before_it_says_anything(self):
        """rdpipe names the stage and waits for it. When the stage continues, so does the pipeline."""
        ran, given, printed = self.file("ran"), self.file("given"), self.file("printed")
        given.write_bytes(b"through")
        with given.open("rb") as source, printed.open("wb") as output:
            self.program = self.rdpipe("--rdpipe-path", "kill -STOP $$; exec rdpipe", f":touch {ran}; cat", "host1:cat",
                                       stdin=source, stdout=output)
            pid = self.pid_of(r"^\S*sh -c kill -STOP")
            harness.wait_until(lambda: of_process(pid, "stat").rpartition(")")[2].split()[0] == "T",
                               "the stage to stop")
            self.program.wait_line(r"^stage 2 \(host1: 'cat'\): nothing is heard of rdpipe there so far")
            self.assertTrue(self.program.is_running())
            self.assertFalse(ran.exists(), "a command was run although not every connection stood")
            os.kill(pid, signal.SIGCONT)
            self.ends(self.program)
        self.assertEqual(printed.read_bytes(), b"through")
        self.nothing_is_left()
        self.assertEqual(len(self.program.lines), 1, self.program.text)

    def test_ctrl_c_while_a_startup_file_is_waited_for(self):
        """rdpipe does not end that shell. When the startup file finishes, no command runs."""
        fifo, ran = self.file("fifo"), self.file("ran")
        os.mkfifo(fifo)
        self.startup_file(f"read line <{fifo}")
        for key, number in ((os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)):
            with self.subTest(number):
                self.program = self.rdpipe(f":touch {ran}; cat", f"host1:touch {ran}; cat")
                writer = harness.wait_until(lambda: self.opened_with_a_reader(fifo), "the startup file to wait")
                key(self.program.pid, number)
                self.ends(self.program, 128 + number)
                os.close(writer)
                self.nothing_is_left()
                self.assertFalse(ran.exists())

    @staticmethod
    def opened_with_a_reader(fifo: pathlib.Path) -> int | None:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None

    def test_a_configuration_for_people_who_log_in(self):
        """Like scp, rdpipe overrides port forwarding, RemoteCommand, RequestTTY and StdinNull of ssh's config."""
        config = self.file("people_config")
        config.write_text(f"LocalForward {harness.free_port()} localhost:22\n"
                          f"ExitOnForwardFailure yes\nRemoteCommand tmux\nRequestTTY yes\n"
                          f"StdinNull yes\nForkAfterAuthentication yes\n{self.sshd.client_config.read_text()}")
        self.assertEqual(self.run_pipe("host1:cat", "host2:cat", given=b"through", config=config), b"through")

    def test_a_stages_process_that_is_asked_to_end(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number):
                self.file("begun").unlink(missing_ok=True)
                self.running("host1:sleep 1000", "host2:cat")
                os.kill(self.pid_of("^rdpipe --stage"), number)
                self.ends_soon(OWN_FAILURE)
                self.rdpipe_says(rf"stage [12] \(host[12].*: its process there was ended by signal {int(number)} ")

    def test_rdpipes_own_ends(self):
        closed = self.start("sh", "-c", 'exec "$@" >&-', "sh", harness.BIN / "rdpipe", ":echo hi")
        self.ends(closed, OWN_FAILURE)
        self.assertRegex(closed.text, "standard output is closed, .*'>file'")
        with subprocess.Popen([harness.BIN / "rdpipe", ":cat"], stdin=os.open(self.folder, os.O_RDONLY),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as wrong:
            self.assertRegex(wrong.stderr.read(), "standard input is a directory; .*tar c DIRECTORY")
        self.assertEqual(wrong.returncode, OWN_FAILURE)

    def test_ports_that_are_taken(self):
        with socket.socket() as other:
            other.bind(("0.0.0.0", 0))
            other.listen()
            port = other.getsockname()[1]
            self.no_command_runs("--port-range", f"{port}-{port}", "host1:RUN")
        self.rdpipe_says(f"stage 1 .*port {port} is in use; name more ports, or another")


if __name__ == "__main__":
    harness.main()
