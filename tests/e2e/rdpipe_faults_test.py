"""Faults in rdpipe: one error names the stage and the cause, the status is right, and no process remains on any host.

Every fault is a real one: killed processes, a full disk, stopped hosts, unauthenticated peers on the port.
"""
import contextlib
import json
import os
import pathlib
import random
import select
import signal
import socket
import subprocess
import threading
import time
import unittest

import harness
from pipelines import OWN_FAILURE, PipelineTest, of_process

# Ignores SIGTERM, SIGINT and SIGHUP, and so do its children.
STUBBORN = "trap '' TERM INT HUP; while :; do sleep 1000; done"
KILLED = 128 + signal.SIGKILL
# At a program's end the leak sanitizer scans it from a second process with the same name. If a test kills that process,
# the program waits for it forever.
NO_LEAK_CHECK = f"ASAN_OPTIONS={os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"


class PipeFaults(PipelineTest):
    # ---- pipelines that do not begin

    def test_an_unknown_host(self):
        self.no_command_runs("host1:RUN", "no-such-host.invalid:cat", ":RUN")
        self.rdpipe_says("stage 2 .*ssh does not reach no-such-host.invalid",
                         "(?i)could not resolve hostname|Name or service")

    def test_a_host_that_refuses_ssh(self):
        self.no_command_runs("-o", f"Port={self.refusing_port()}", "host1:RUN")
        self.rdpipe_says("stage 1 .*ssh does not reach host1", "(?i)connection refused")

    def test_a_key_that_ssh_does_not_take(self):
        other = self.file("other_key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
        self.no_command_runs("-o", f"IdentityFile={other}", "-o", "IdentitiesOnly=yes", "-o", f"Port={self.sshd.port}",
                             "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
                             "-o", f"UserKnownHostsFile={self.file('known')}", "127.0.0.1:RUN")
        self.rdpipe_says("ssh does not reach 127.0.0.1", "(?i)permission denied")

    def test_a_host_without_framewire(self):
        self.no_command_runs("--rdpipe-path", "/no/such/rdpipe", "host1:RUN", "host2:RUN")
        self.rdpipe_says("there is no rdpipe at host[12]; install framewire there")

    def test_something_else_under_its_name(self):
        self.no_command_runs("--rdpipe-path", "yes #", "host1:RUN")
        self.rdpipe_says("is no message of framewire")

    def test_what_is_no_rdpipe_there_gets_no_plan(self):
        """A plan has the keys of the connections."""
        read = self.file("read")
        self.no_command_runs("--rdpipe-path", f"timeout 1 cat > {read} #", "host1:RUN", "host2:cat")
        self.rdpipe_says("ended before rdpipe could start there, with status 124")
        self.assertEqual(read.read_bytes(), b"")

    def test_files_that_cannot_be_had(self):
        folder = self.folder
        for stages, why in (
            ((f"host1:<{folder}/none", "host2:RUN"), "stage 1 .*cannot read .*No such file"),
            ((f"host1:<{folder}", "host2:RUN"), "stage 1 .*is a directory"),
            (("host1:RUN", f"host2:>{folder}/no/file"), "stage 2 .*No such file"),
            (("host1:RUN", f"host2:>{folder}"), "stage 2 .*a directory"),
        ):
            with self.subTest(why):
                self.no_command_runs(*stages)
                self.rdpipe_says(why)

    def test_wrong_command_lines(self):
        for arguments, wanted in (
            ((), "no stage was given|STAGE"),
            (("cat",), "'cat' is no stage.*no colon"),
            (("host1:",), "no command"),
            (("host1:  ",), "no command"),
            (("host1:<",), "names no file"),
            (("host1:</dev/stdin", ":cat"), "'/dev/stdin' is another thing in every process"),
            (("host1:cat", ":>//dev/./fd/1"), "'//dev/./fd/1' is another thing in every process"),
            (("--data-address", "host1=[]", "host1:cat"), "takes HOST=ADDRESS"),
            (("-oProxyCommand=touch /tmp/x;host1:cat", "nothing"), "'nothing' is no stage"),
            (("--", "-oProxyCommand=x:cat"), "is no host"),
            (("host1:cat", "host2:<file"), "only the first"),
            (("host1:>file", "host2:cat"), "only the last"),
            (("--port-range", "5-4", ":cat"), "--port-range"),
            (("--port-range", "0-9", ":cat"), "--port-range"),
            (("--data-address", "host9=1.2.3.4", "host1:cat"), "no stage is on 'host9'"),
            (("--data-address", "host1", "host1:cat"), "HOST=ADDRESS"),
            (("--transport", "pigeon", ":cat"), "--transport is 'pigeon'"),
            (("--encrypt", "--transport", "rdma", ":cat"), "--transport is 'rdma'; with --encrypt"),
            (("--slots", "1", ":cat"), "--slots"),
            (("--limit", "0", ":cat"), "--limit"),
        ):
            with self.subTest(arguments):
                self.run_pipe(*arguments, status=OWN_FAILURE)
                self.rdpipe_says(wanted)

    def test_what_the_stage_process_is_told(self):
        """The stage process ends without a crash on any standard input."""
        for given in (b"", b"garbage\n", b"{}\n", b'{"type":"plan"}\n', b'{"type":"plan","protocol":1}\n',
                      b'{"type":"go"}\n', b'{"type":"plan","protocol":99}\n', os.urandom(3000), b"\0" * 3_000_000):
            with self.subTest(given[:40]):
                told = subprocess.run([harness.BIN / "rdpipe", "--stage"], input=given, capture_output=True,
                                      timeout=harness.WATCHDOG_S)
                self.assertEqual(told.returncode, 0)
                self.assertNotRegex(told.stderr.decode(errors="replace"), harness.TRACES_OF_A_CRASH)

    def test_a_stage_that_is_stopped_before_it_began(self):
        """It reports an end of its command, although that never ran: otherwise rdpipe would count its host as lost."""
        ran = self.file("ran")
        with subprocess.Popen([harness.BIN / "rdpipe", "--stage"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as stage:
            self.assertEqual(stage.stdout.readline(), b"\n", "the end of whatever stands before")
            plan = {"type": "plan", "protocol": json.loads(stage.stdout.readline())["protocol"], "number": 1,
                    "host": "h", "work": 0, "text": f"touch {ran}".encode().hex(), "appends": False,
                    "upstream": None, "downstream": None}
            stage.stdin.write("".join(json.dumps(one) + "\n" for one in (plan, {"type": "stop"})).encode())
            stage.stdin.flush()
            said = [json.loads(line) for line in stage.stdout]
        self.assertEqual(stage.returncode, 0)
        self.assertEqual(said, [{"type": "command_ended", "status": 0, "signal": 0, "stopped": True}, {"type": "done"}])
        self.assertFalse(ran.exists())

    # ---- killed processes

    def test_a_killed_command(self):
        done = self.file("done")
        self.running(f"host1:{STUBBORN}", f"host2:cat; touch {done}", "host3:cat")
        os.kill(self.pid_of("-c touch .*begun"), signal.SIGKILL)
        self.ends_soon(KILLED)
        self.rdpipe_says(r"stage 1 .* was ended by signal 9 \(Killed\)")
        self.assertFalse(done.exists(), "what came from a killed stage looked complete to the next one")

    def test_a_killed_command_in_the_middle(self):
        self.running("host1:yes", "host2:exec sleep 3000", f"host3:{STUBBORN}")
        os.kill(self.pid_of("^sleep 3000"), signal.SIGKILL)
        self.ends_soon(KILLED)
        self.rdpipe_says(r"stage 2 .* was ended by signal 9 \(Killed\)")

    def test_a_killed_agent_takes_all_of_its_command_along(self):
        """Also the command's children, before they could read an end of their input and count it as complete."""
        done = self.file("done")
        self.running("host1:yes", f"host2:(cat >/dev/null && touch {done}); sleep 1000")
        self.pid_of("^cat$")
        agents = self.named("rdpipe-stage")
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that no agent sees another one end
            for pid in agents:
                os.kill(pid, number)
        self.ends_soon(OWN_FAILURE)
        self.assertFalse(done.exists(), "what was cut off looked complete")

    def test_something_that_never_ends_a_line(self):
        self.no_command_runs("--rdpipe-path", "cat /dev/zero #", "host1:RUN")
        self.rdpipe_says("is no message of framewire")

    def test_the_reader_of_a_named_pipe_that_leaves(self):
        pipe, data = self.file("pipe"), self.file("data")
        os.mkfifo(pipe)
        data.write_bytes(bytes(1 << 24))
        for first in (f"host1:<{data}", "host1:yes"):
            with self.subTest(first):
                reader = subprocess.Popen(["head", "-c", "1", pipe], stdout=subprocess.DEVNULL)
                self.addCleanup(reader.wait)
                self.addCleanup(reader.kill)
                self.run_pipe(first, f"host2:>{pipe}", status=128 + signal.SIGPIPE)

    def test_a_command_that_its_reader_did_not_end(self):
        done = self.file("done")
        self.run_pipe("host1:echo half; kill -PIPE $$", f"host2:cat >/dev/null && touch {done}",
                      status=128 + signal.SIGPIPE)
        self.rdpipe_says("stage 1 .* was ended by signal 13")
        self.assertFalse(done.exists())

    def test_what_a_command_left_behind_in_its_group(self):
        self.running("host1:sleep 1000 & exit 0", "host2:cat")
        self.pid_of("^sleep 1000")
        time.sleep(0.5)
        self.program.interrupt()
        self.ends_soon(128 + signal.SIGINT)

    def test_a_signal_that_is_to_be_ignored(self):
        """nohup starts programs like this."""
        mine, theirs = os.pipe()
        self.addCleanup(os.close, theirs)
        self.program = self.rdpipe("host1:cat", "host2:cat", prefix=("nohup",), stdin=mine)
        os.close(mine)
        self.pid_of("^cat$")
        os.kill(self.program.pid, signal.SIGHUP)
        time.sleep(0.5)
        self.assertTrue(self.program.is_running())
        self.program.interrupt()
        self.ends_soon(128 + signal.SIGINT)

    def test_a_sigterm_that_is_to_be_ignored(self):
        """rdpipe ends hops by SIGTERM, also an ignored one. Here a background process keeps the hop's pipe open."""
        self.program = self.rdpipe(":yes", ":sleep 1000 <&0 >/dev/null 2>&1 & exit 0",
                                   prefix=("sh", "-c", 'trap "" TERM; exec "$@"', "sh"))
        self.ends(self.program)
        os.kill(self.pid_of("^sleep 1000"), signal.SIGKILL)
        self.nothing_is_left()

    def named(self, name: str) -> list[int]:
        """rdpipe's processes of that name: rdpipe-stage, rdpipe-hop, rdpipe-guard."""
        return sorted(pid for pid in self.left() if of_process(pid, "comm").strip() == name)

    def test_killed_helpers_of_a_stage(self):
        """The stage's agent, every hop process (also on rdpipe's side), and ssh."""
        def ssh():
            return [pid for pid, line in self.left().items() if line.startswith("ssh ")]
        for what, find in (("agent", lambda: self.named("rdpipe-stage")),
                           ("first hop", lambda: self.named("rdpipe-hop")[:1]),
                           ("last hop", lambda: self.named("rdpipe-hop")[-1:]), ("ssh", ssh)):
            with self.subTest(what):
                self.file("begun").unlink(missing_ok=True)
                self.running(f"host1:{STUBBORN}", f"host2:{STUBBORN}")
                harness.wait_until(lambda: (len(self.named("rdpipe-stage")), len(self.named("rdpipe-hop")), len(ssh()))
                                   == (2, 4, 2), "the hop of the empty standard input to end")
                os.kill(find()[-1], signal.SIGKILL)
                self.ends_soon(OWN_FAILURE)
                self.assertRegex(self.program.lines[-1], "^rdpipe: ")

    def test_any_process_at_any_moment(self):
        """When any process is killed, rdpipe ends, states why, leaves no process, and reports no false success."""
        seed = int(os.environ.get("FRAMEWIRE_SEED", random.randrange(1 << 30)))
        chance = random.Random(seed)
        print(f"FRAMEWIRE_SEED={seed}", end=" ")
        data = self.file("data")
        data.write_bytes(os.urandom(1 << 20) * 64)
        killed = 0
        for _ in range(40):
            copy = self.file("copy")
            copy.unlink(missing_ok=True)
            self.program = self.rdpipe("--rdpipe-path", f"env {NO_LEAK_CHECK} rdpipe", "--limit", "100M",
                                       f"host1:<{data}", "host2:cat", f"host3:>{copy}", prefix=("env", NO_LEAK_CHECK))
            time.sleep(chance.uniform(0, 1.2))
            victims = sorted(self.left().items())
            if not victims:
                self.ends(self.program)
                self.assertTrue(copy.read_bytes() == data.read_bytes(), "nobody was killed, and the copy is not whole")
                continue
            pid, line = chance.choice(victims)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                self.program.wait_end()
                continue
            killed += 1
            status = self.program.wait_end()
            self.nothing_is_left()
            whole = copy.exists() and copy.stat().st_size == data.stat().st_size
            self.assertTrue(status != 0 or (whole and copy.read_bytes() == data.read_bytes()),
                            f"{line} was killed, the copy is not whole, and rdpipe ended with 0:\n{self.program.text}")
            if pid != self.program.pid:
                self.assertTrue(status == 0 or self.program.lines,
                                f"{line} was killed, and rdpipe ended with {status} without a word")
            if killed == 12:
                return
        self.fail(f"of 40 pipelines only {killed} lived long enough for a process of theirs to be killed")

    # ---- signals and stops by the user

    def test_ctrl_c(self):
        """A terminal sends SIGINT to every process of the foreground at once."""
        self.running(f"host1:{STUBBORN}", f":{STUBBORN}", f"host2:{STUBBORN}")
        os.killpg(self.program.pid, signal.SIGINT)
        self.ends_soon(128 + signal.SIGINT)
        self.rdpipe_says("interrupted; every stage has been ended")

    def test_signals_to_rdpipe_alone(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.file("begun").unlink(missing_ok=True)
                self.running(f"host1:{STUBBORN}", f"host2:{STUBBORN}")
                os.kill(self.program.pid, number)
                self.ends_soon(128 + number)

    def test_rdpipe_itself_is_killed(self):
        self.running(f"host1:{STUBBORN}", f":{STUBBORN}", f"host2:{STUBBORN}")
        os.kill(self.program.pid, signal.SIGKILL)
        self.ends_soon(-signal.SIGKILL)

    def test_interrupted_before_it_stands(self):
        self.program = self.rdpipe("-o", "ProxyCommand=grep -v .", "host1:cat")  # a host that never answers
        self.pid_of("^ssh ")
        os.kill(self.program.pid, signal.SIGINT)
        self.ends_soon(128 + signal.SIGINT)

    def slow_configuration(self) -> pathlib.Path:
        """An ssh configuration with which every ssh but the first one hangs."""
        config, asked = self.file("slow_config"), self.file("asked")
        config.write_text(f'Match exec "test -e {asked} && sleep 1000; touch {asked}"\n  LogLevel ERROR\nMatch all\n'
                          + self.sshd.client_config.read_text())
        return config

    def test_interrupted_while_ssh_says_where_a_host_is(self):
        self.program = self.rdpipe("host1:cat", config=self.slow_configuration())
        self.pid_of("^sleep 1000")
        os.kill(self.program.pid, signal.SIGINT)
        self.ends_soon(128 + signal.SIGINT)

    def test_an_ssh_that_does_not_say_where_a_host_is(self):
        """rdpipe then tries the host's name, and the address that ssh reached."""
        slow = self.slow_configuration()
        seen = []
        asked = threading.Thread(target=lambda: seen.append(self.pid_of("^sleep 1000")))
        asked.start()
        self.assertEqual(self.run_pipe("host1:cat", given=b"found", config=slow), b"found")
        asked.join()
        self.assertTrue(seen, "it was not asked where the host is")

    def test_ctrl_z(self):
        """The whole foreground stops for longer than the timeout for silent hosts, then continues without an error."""
        with self.file("printed").open("w+b") as printed:
            self.running("host1:for i in 1 2 3; do echo $i; sleep 5; done", "host2:cat", stdout=printed)
            os.killpg(self.program.pid, signal.SIGSTOP)
            harness.wait_until(lambda: of_process(self.program.pid, "stat").rpartition(")")[2].split()[0] == "T",
                               "rdpipe to stop")
            time.sleep(12)
            os.killpg(self.program.pid, signal.SIGCONT)
            self.ends(self.program)
        self.assertEqual(self.file("printed").read_bytes(), b"1\n2\n3\n")
        self.nothing_is_left()

    def test_a_stage_that_wants_the_terminal(self):
        """The kernel would stop it as a background process, and no shell could continue it."""
        for command in ("head -c 1 /dev/tty", "stty sane </dev/tty", "cat | head -c 1 /dev/tty",
                     "(stty sane </dev/tty; true)"):
            with self.subTest(command):
                name, value = self.mark.split("=")
                with self.file("terminal").open("w+b") as terminal:
                    self.program = self.start("script", "-qec", f"{harness.BIN}/rdpipe :true ':{command}'", "/dev/null",
                                              stdout=terminal, environment=self.environment(**{name: value}))
                    self.ends(self.program, OWN_FAILURE)
                    terminal.seek(0)
                    self.assertRegex(terminal.read().decode(), "stage 2 .*wants (to set )?the terminal")
                self.nothing_is_left()

    # ---- hosts and disks

    @unittest.skipIf(os.getuid() != 0, "only root may mount a file system of a few megabytes")
    def test_a_disk_that_is_full(self):
        small = self.file("small")
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "framewire-test", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        for last, messages in ((f"host3:>{small}/file", [r"stage 3 .*cannot write .*No space left on device"]),
                                (f"host3:cat >{small}/other",
                                 [r"stage 3 .* ended with status 1", "No space left on device"])):
            with self.subTest(last):
                self.file("begun").unlink(missing_ok=True)
                self.running("host1:cat /dev/zero", "host2:cat", last)
                self.ends_soon(OWN_FAILURE if ":>" in last else 1)
                self.rdpipe_says(*messages)

    def test_a_host_that_falls_silent(self):
        """All of rdpipe's processes on that host are stopped; their connections stay open."""
        self.running(f"host1:exec sleep 1000", "host2:exec sleep 2000")
        victims = [pid for pid, line in self.left().items() if line.startswith("rdpipe --stage")]
        for pid in victims:
            os.kill(pid, signal.SIGSTOP)
        self.ends(self.program, OWN_FAILURE)
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):  # one that goes on may end, and its children with it
                os.kill(pid, signal.SIGCONT)
        self.nothing_is_left()
        self.rdpipe_says("stage [12] .*its host does not answer")

    # ---- unauthenticated peers

    def test_a_standard_error_that_nobody_reads_for_a_while(self):
        """As before `less`: when all buffers are full, ssh blocks and no longer reports that its host answers."""
        lines = 1_000_000  # 7 MB: ssh buffers 2 MB before it blocks
        fifo = self.file("stderr")
        os.mkfifo(fifo)
        reads = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        with self.file("stdout").open("w+b") as output:
            pipeline = self.rdpipe(f"host1:seq {lines} >&2; echo ok", "host2:cat", stdout=output,
                                   prefix=["sh", "-c", 'exec "$@" 2>"$0"', fifo])
            harness.wait_until(lambda: select.select([reads], [], [], 0)[0], "the first of it")
            time.sleep(14)  # longer than the timeout for silent hosts
            os.set_blocking(reads, True)
            with os.fdopen(reads, "rb") as end:
                said = end.read()
            self.ends(pipeline)
        whole = "".join(f"{number}\n" for number in range(1, lines + 1))
        self.assertTrue(said.decode() == whole, f"{len(said)} of {len(whole)} bytes: {said[:100]} … {said[-100:]}")
        self.assertEqual(self.file("stdout").read_bytes(), b"ok\n")
        self.nothing_is_left()

    def test_unauthenticated_peers_on_the_port(self):
        """They connect before the peers and all the time, and disturb no pipeline."""
        first = harness.free_port(count=4)
        ports = range(first, first + 4)
        ends = threading.Event()

        def knock():
            silent = []
            while not ends.is_set():
                try:
                    one = socket.create_connection(("127.0.0.1", random.choice(ports)), 1)
                    one.sendall(random.choice((b"GET / HTTP/1.0\r\n\r\n", os.urandom(200), b"\x16\x03\x01", b"")))
                    silent.append(one)
                except OSError:
                    time.sleep(0.001)
                if len(silent) > 20:
                    silent.pop(0).close()

        unrecognized = threading.Thread(target=knock)
        unrecognized.start()
        try:
            for _ in range(3):
                data = os.urandom(5_000_000)
                self.assertTrue(self.run_pipe("--port-range", f"{ports[0]}-{ports[-1]}", "--transport", "tcp",
                                              "host1:cat", "host2:cat", given=data) == data)
        finally:
            ends.set()
            unrecognized.join()

    def test_a_source_that_shrinks(self):
        data = self.file("data")
        data.write_bytes(bytes(50_000_000))
        done = self.file("done")
        self.program = self.rdpipe("--limit", "10M", f"host1:<{data}", f"host2:cat >/dev/null; touch {done}")
        harness.wait_until(lambda: self.pid_of("-c cat >/dev/null"), "the pipeline to run")
        os.truncate(data, 1000)
        self.ends_soon(OWN_FAILURE)
        self.rdpipe_says("stage 1 .*became shorter while it was read")
        self.assertFalse(done.exists(), "half a file looked complete to the next stage")

    def test_a_source_that_cannot_be_read(self):
        """A read error must not count as the end of the source."""
        done = self.file("done")
        self.run_pipe("host1:</proc/self/mem", f"host2:cat >/dev/null; touch {done}", status=OWN_FAILURE)
        self.rdpipe_says("stage 1 .*Input/output error")
        self.assertFalse(done.exists(), "what could not be read looked complete to the next stage")


if __name__ == "__main__":
    harness.main()
