"""rdpipe without faults. A private sshd on loopback simulates the hosts. Faults are in rdpipe_faults_test.py."""
import base64
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess

import harness
import private_sshd
from pipelines import RING_BYTES, SLOT_BYTES, SMALL, PipelineTest, bytes_of_process, processes_with

# The output of sh shows whether every quote, blank, line end and byte arrived unchanged.
ODD = "a b'c\"d$HOME`e`\\f\n\tg*?é日本;&|<>#!"


class Pipe(PipelineTest):
    def test_the_first_example(self):
        self.assertEqual(self.run_pipe("host1:tr [:lower:] [:upper:]", "host2:rev", given=b"hello\n"), b"OLLEH\n")

    def test_one_stage_and_many(self):
        self.assertEqual(self.run_pipe("host1:cat", given=b"one"), b"one")
        self.assertEqual(self.run_pipe(":sed s/$/1/", "host1:sed s/$/2/", ":sed s/$/3/", "host1:sed s/$/4/",
                                       "host2:sed s/$/5/", ":sed s/$/6/", given=b"x\n"), b"x123456\n")

    def test_only_here(self):
        self.assertEqual(self.run_pipe(":cat", ":rev", given=b"abc\n"), b"cba\n")

    def test_sizes_around_a_slot_and_the_ring(self):
        for size in (0, 1, SLOT_BYTES - 1, SLOT_BYTES, SLOT_BYTES + 1, RING_BYTES - 1, RING_BYTES, RING_BYTES + 1,
                     3_000_017):
            for transport in ("auto", "tcp"):
                with self.subTest(f"{size} bytes over {transport}"):
                    data = os.urandom(size)
                    self.assertTrue(self.run_pipe(*SMALL, "--transport", transport, "host1:cat", "host2:cat",
                                                  given=data) == data)

    def test_gibibytes_by_their_hash(self):
        size = (3 << 30) + 1 if not harness.IS_SANITIZED else (1 << 26) + 1
        make = f"yes framewire | head -c {size}"
        with subprocess.Popen(["sh", "-c", make + " | md5sum"], stdout=subprocess.PIPE) as wanted:
            got = self.run_pipe("--transport", "tcp", f"host1:{make}", "host2:md5sum", seconds=6 * harness.WATCHDOG_S)
            self.assertEqual(got, wanted.communicate()[0])

    def test_files_at_both_ends(self):
        original, copy = self.file("an original 'file'"), self.file("a copy é")
        original.write_bytes(os.urandom(777_777))
        self.run_pipe(f"host1:<{original}", f"host2:>{copy}")
        self.assertEqual(copy.read_bytes(), original.read_bytes())
        self.run_pipe(f"host1:< {original}", f":>> {copy}")
        self.assertEqual(copy.read_bytes(), 2 * original.read_bytes())
        self.assertEqual(self.run_pipe(f":<{original}"), original.read_bytes())
        self.run_pipe(f"host1:>{copy}", given=b"short")
        self.assertEqual(copy.read_bytes(), b"short")
        self.run_pipe(f"host1:>>{copy}", given=b"")
        self.assertEqual(copy.read_bytes(), b"short")

    def test_the_same_file_at_both_ends_is_left_alone(self):
        """Also with a command between source and sink."""
        original, link = self.file("original"), self.file("link")
        original.write_bytes(b"b\na\n")
        os.link(original, link)
        for stages in ((f"host1:<{original}", f"host2:>{link}"), (f"host1:<{original}", f":>>{original}"),
                       (f":<{original}", "host1:sort", f"host2:>{link}")):
            with self.subTest(stages):
                self.run_pipe(*stages, status=125)
                self.says("are the same file")
                self.assertEqual(original.read_bytes(), b"b\na\n")

    def test_a_name_that_is_no_utf8_and_one_at_home(self):
        odd = os.fsencode(self.folder) + b"/\xff\xfe"
        pathlib.Path(os.fsdecode(odd)).write_bytes(b"odd")
        self.assertEqual(self.run_pipe("host1:<" + os.fsdecode(odd)), b"odd")
        self.run_pipe("host1:>~/file", given=b"at home")
        self.assertEqual((self.sshd.home / "file").read_bytes(), b"at home")

    def test_a_file_whose_name_is_a_dash(self):
        """`-` is a file on a host, not the stream of rdpipe's messages to the stage."""
        home = self.sshd.home
        self.assertEqual(self.run_pipe("host1:printf some", "host2:>-"), b"")
        self.assertEqual(self.run_pipe("host1:<-", "host2:cat; rm ./-"), b"some")
        self.assertEqual(list(home.glob("-")), [])

    def test_commands_come_to_the_shell_as_they_are(self):
        for text in (ODD, "'", '"', "\\", "$(echo no)", "two\nlines\n"):
            word = "'" + text.replace("'", "'\\''") + "'"
            for host in ("host1", ""):
                self.assertEqual(self.run_pipe(f"{host}:printf %s {word}").decode(), text)
        self.assertEqual(self.run_pipe(os.fsdecode(b"host1:printf %s '\xff\xfe'")), b"\xff\xfe")

    def test_the_users_shell_runs_them(self):
        with open("/etc/passwd", encoding="utf-8") as users:
            shell = next(line for line in users if line.startswith(self.sshd.user + ":")).strip().split(":")[6]
        self.assertEqual(self.run_pipe("host1:readlink /proc/$$/exe; true").decode().strip(), os.path.realpath(shell))

    def test_what_they_complain_of_is_seen_here(self):
        self.run_pipe("host1:echo one complaint >&2", "host2:cat; echo another >&2")
        self.says("^one complaint$", "^another$")

    def test_small_chunks_come_at_once(self):
        mine, theirs = os.pipe()
        reads, writes = os.pipe()
        self.program = self.rdpipe("host1:cat", "host2:cat", stdin=mine, stdout=writes)
        os.close(mine)
        os.close(writes)
        for number in range(20):  # each waits for the one before: a byte that is held back hangs the test
            word = f"{number};".encode()
            os.write(theirs, word)
            got = b""
            while len(got) < len(word):
                got += os.read(reads, 100)
            self.assertEqual(got, word)
        os.close(theirs)
        self.ends(self.program)
        os.close(reads)
        self.nothing_is_left()

    def test_a_standard_input_that_nobody_ends(self):
        mine, theirs = os.pipe()
        with self.file("stdout").open("wb") as output:
            self.program = self.rdpipe("host1:echo done", "host2:cat", stdin=mine, stdout=output)
            self.ends(self.program)
        for end in (mine, theirs):
            os.close(end)
        self.assertEqual(self.file("stdout").read_bytes(), b"done\n")
        self.nothing_is_left()

    # ---- statuses

    def test_exit_statuses(self):
        for stages, status, messages in (
            (("host1:exit 3", "host2:cat"), 3, [r"stage 1 \(host1: 'exit 3'\) ended with status 3"]),
            (("host1:true", "host2:cat; exit 7"), 7, [r"stage 2 \(host2: .*\) ended with status 7"]),
            (("host1:exit 3", "host2:cat; exit 4", ":cat"), 4, ["stage 1 .* status 3", "stage 2 .* status 4"]),
            (("host1:no-such-command-here",), 127, ["stage 1 .* status 127", "no-such-command-here"]),
            (("host1:kill -TERM $$", "host2:cat"), 128 + 15, [r"stage 1 .* was ended by signal 15 \(Terminated\)"]),
        ):
            with self.subTest(stages):
                self.run_pipe(*stages, status=status)
                self.says(*messages)
                self.assertEqual(len([line for line in self.program.lines if line.startswith("rdpipe: ")]),
                                 len([s for s in messages if "stage" in s]))

    def test_a_reader_that_has_enough_is_no_failure(self):
        self.assertEqual(self.run_pipe("host1:yes", "host2:head -n 3"), b"y\n" * 3)
        self.assertEqual(self.run_pipe("host1:yes", "host3:cat", "host2:cat", ":head -c 5"), b"y\ny\ny")
        self.assertEqual(self.program.lines, [])

    def test_nor_is_it_one_when_it_then_fails_but_that_is(self):
        self.run_pipe("host1:yes", "host2:head -n 3 >&2; exit 9", status=9)
        self.assertEqual([line for line in self.program.lines if "rdpipe" in line],
                         ["rdpipe: stage 2 (host2: 'head -n 3 >&2; exit 9') ended with status 9"])

    def test_the_reader_of_our_own_output_leaves(self):
        reads, writes = os.pipe()
        self.program = self.rdpipe("host1:yes", "host2:cat", stdout=writes)
        os.close(writes)
        os.read(reads, 10)
        os.close(reads)
        self.ends(self.program, 128 + 13)
        self.assertEqual(self.program.lines, [])
        self.nothing_is_left()

    # ---- secrets and output

    def test_dry_run(self):
        printed = self.run_pipe("-n", "-o", "Port=1", "me@nowhere.example:cat 'a b'", ":>x y").decode()
        self.assertRegex(printed, r"ssh -F \S+ -o Port=1 .*-- me@nowhere.example 'rdpipe --stage'")
        self.assertIn(r"""'cat '\''a b'\'''""", printed)
        self.assertIn("'x y'", printed)
        self.assertFalse(self.file("x y").exists())
        printed = self.run_pipe("-n", "--data-address", "b=10.0.0.2", "--port-range", "5300-5303", "--limit", "1M",
                                "--no-checksum", "--transport", "tcp", "--encrypt", "a:<x", "b:cat").decode()
        how = ", ports 5300 to 5303; transport tcp, encrypted, no checksum, at most 1.05 MB/s"
        self.assertEqual(printed.splitlines()[-2:],
                         [f"bytes a → b: the sender dials 10.0.0.2{how}",
                          f"bytes b → here: the receiver dials 10.0.0.2{how}"])

    def test_encrypted_on_every_hop(self):
        data = os.urandom(3_000_000)
        self.assertTrue(self.run_pipe("-v", "--encrypt", "host1:cat", "host2:cat", given=data) == data)
        for hop in ("here → host1", "host1 → host2", "host2 → here"):
            self.says(rf"^{hop}: transport=tcp .*control=tls1.3 data=tls")

    def test_verbose_names_every_hop(self):
        self.run_pipe("-v", "--transport", "tcp", "host1:cat", "host2:>/dev/null", given=os.urandom(1 << 20))
        for hop in ("here → host1", "host1 → host2"):
            self.says(rf"^{hop}: transport=tcp .*auth=psk control=tls1.3",
                      rf"^{hop}: Bandwidth .*: 1\.0 MB .* over tcp")

    def test_the_live_line_has_every_hop(self):
        data = self.file("data")
        data.write_bytes(os.urandom(60_000_000))
        self.program = self.rdpipe("-v", "--limit", "2M", f"host1:<{data}", ":cat", "host2:cat", terminal=True)
        hops = (rf"{hop} [0-9.]+ [kM]B [1-9][0-9.]* [kM]B/s"
                for hop in ("host1 → here", "here → host2", "host2 → here"))
        self.program.wait_line(f"^{'   '.join(hops)}$")
        self.assertTrue(self.program.is_running(), "that was no live line")
        self.program.interrupt()
        self.ends(self.program, 128 + signal.SIGINT)
        self.nothing_is_left()

    def test_keys_and_ports_are_nowhere_to_be_seen(self):
        """The keys and ports in ssh's two streams appear in no argument, environment or message."""
        fifo = self.file("fifo")
        os.mkfifo(fifo)
        for options in ((), ("-v", "-o", "LogLevel=DEBUG3")):
            with self.subTest(options):
                streams = self.file(f"streams-{len(options)}")
                listened_to = f'both() {{ s=$(mktemp {streams}-XXXXXX); tee $s-in | rdpipe "$@" | tee $s-out; }}; both'
                self.program = self.rdpipe(*options, "--transport", "tcp", "--rdpipe-path", listened_to,
                                           f"host1:cat {fifo}", "host2:cat")
                with fifo.open("wb") as source:
                    source.write(b"x" * 100_000)
                    source.flush()
                    seen = {pid: b"\n".join(bytes_of_process(pid, name) for name in ("cmdline", "environ"))
                            for pid in processes_with(self.mark)}
                self.ends(self.program)
                self.nothing_is_left()
                self.assertGreaterEqual(len(seen), 12, seen)
                self.assertTrue(any(f"cat {fifo}".encode() in words for words in seen.values()),
                                "this finds what is there")
                keys, ports = self.keys_and_ports(self.folder.glob(f"{streams.name}-*"))
                self.assertEqual((len(keys), len(ports)), (3, 3), "one for each hop")
                needles = [form for key in keys for form in self.forms_of(key)]
                for where, text in {**seen, "what was said": self.program.text.encode()}.items():
                    self.assertEqual([one for one in needles if one in text], [], where)
                    # A process id may equal a port number.
                    text = re.sub(rb"\b(" + b"|".join(str(pid).encode() for pid in seen) + rb")\b", b"PID", text)
                    # So may what ssh says of its buffers, of what went through it, and how fast.
                    text = re.sub(rb"\b(rmax|maxlen|sent|received) [0-9.]+", rb"\1 N", text)
                    found = re.findall(rb"(?<![0-9A-Za-z])(?:" + b"|".join(ports) + rb")(?![0-9A-Za-z])", text)
                    self.assertEqual(found, [], f"a port of a hop: {where}: {text}")

    @staticmethod
    def keys_and_ports(streams) -> tuple[set[bytes], set[bytes]]:
        messages = [json.loads(line) for stream in streams for line in stream.read_bytes().splitlines() if line]
        plans = [one[hop] for one in messages if one["type"] == "plan" for hop in ("upstream", "downstream")]
        keys = {bytes.fromhex(plan["key"]) for plan in plans}
        return keys, {str(one["port"]).encode() for one in messages if "port" in one}

    @staticmethod
    def forms_of(key: bytes) -> list[bytes]:
        bases = [encode(key).rstrip(b"=") for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.b32encode)]
        return [key, key.hex().encode(), key.hex().upper().encode(), *bases]

    def test_ports_and_addresses_for_the_bytes(self):
        port = harness.free_port()
        one_hop = ("--transport", "tcp", "--port-range", f"{port}-{port}", "--data-address", "host2=127.0.0.1",
                   f"host1:<{__file__}", "host2:>/dev/null")
        self.run_pipe(*one_hop)
        with socket.create_server(("", port)):
            self.run_pipe(*one_hop, status=125)
            self.says(f"port {port} is in use")
        self.run_pipe("--data-address", "host1=192.0.2.77", "host1:cat", status=125, seconds=2 * harness.WATCHDOG_S)
        self.says("cannot reach port .* at 192.0.2.77", "--data-address")

    def test_who_may_come_to_a_hop(self):
        data = self.file("data")
        os.mkfifo(data)
        for source, sink, wanted in ((f":<{data}", ":>/dev/null", {"100007F"}),
                                     (f"host1:<{data}", "host2:>/dev/null", {""})):
            with self.subTest(source), data.open("r+b", buffering=0) as feed:  # for both, so that it opens at once
                port = harness.free_port()
                self.program = self.rdpipe("--transport", "tcp", "--port-range", f"{port}-{port}", source, sink)
                self.assertEqual(harness.wait_until(lambda port=port: harness.listening_on(port),
                                                    "an end that listens"), wanted)
                feed.write(b"all")
                harness.wait_until(lambda feed=feed: not select.select([feed], [], [], 0)[0], "the source to be read")
                feed.close()
                self.ends(self.program)
        self.nothing_is_left()

    def test_a_shell_that_greets(self):
        self.assertEqual(self.run_pipe("--rdpipe-path", "echo Welcome to this host; echo; rdpipe", "host1:cat",
                                       given=b"x"), b"x")

    def test_ipv6_and_a_user(self):
        try:
            sshd = private_sshd.PrivateSshd(self.folder, hosts=("::1",), address="::1", mark=self.mark)
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        self.addCleanup(sshd.stop)
        self.sshd, kept = sshd, self.sshd
        self.assertEqual(self.run_pipe("[::1]:cat", f"{sshd.user}@[::1]:rev", given=b"abc\n"), b"cba\n")
        self.sshd = kept


if __name__ == "__main__":
    harness.main()
