"""rdsend and rdrecv copy every byte or end with an error status, over every link of this machine."""
import fcntl
import hashlib
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import harness
from byte_programs import RING_BYTES, SLOT_BYTES, SMALL, BytePrograms


class Bytes(BytePrograms):
    # ---- exact copies

    def test_sizes_around_a_slot_and_the_ring(self):
        for size in (0, 1, SLOT_BYTES - 1, SLOT_BYTES, SLOT_BYTES + 1, RING_BYTES - 1, RING_BYTES, RING_BYTES + 1,
                     5_000_011):
            for transport in ("local", "tcp"):
                with self.subTest(f"{size} bytes over {transport}"):
                    self.check_copy(self.data(size), transport, *SMALL)

    def test_the_digest_is_xxhsums(self):
        harness.require_tool("xxhsum")
        original = self.data(100_003)
        sent = self.check_copy(original, "tcp")
        said = subprocess.run(["xxhsum", "-H3", original], capture_output=True, text=True, check=True).stdout
        self.assertIn(sent["digest"], said)

    def test_encrypted(self):
        for size in (0, 1, SLOT_BYTES + 1, 40_000_003):
            with self.subTest(f"{size} bytes"):
                original = self.data(size)
                self.check_copy(original, "tcp", "--encrypt")
                self.assertEqual(hashlib.sha256(self.file("copy").read_bytes()).digest(),
                                 hashlib.sha256(original.read_bytes()).digest())
        # Without --encrypt, sendfile() would send such a file from the page cache.
        self.assertIsNone(self.check_copy(original, "tcp", "--encrypt", "--no-checksum")["digest"])

    def test_encrypted_because_the_receiver_asks(self):
        original, copy = self.data(3_000_000), self.file("copy")
        receiver = self.receiver(copy, "--encrypt")
        refused = self.start(harness.BIN / "rdsend", receiver.address, original, "--transport", "local")
        self.ends(refused, harness.REFUSED)
        self.one_message(refused, "the viewer asks for --encrypt", "the sender offers local")
        receiver.wait_line("^rdrecv: warning: the viewer asks for --encrypt, .*the sender offers local")
        sender = self.sender(receiver.address, original)
        self.ends(sender)
        self.ends(receiver)
        for program in (sender, receiver):
            program.wait_line("transport=tcp memory=host auth=user control=unix data=tls")
        self.assertEqual(copy.read_bytes(), original.read_bytes())

    def test_the_link_that_nobody_names(self):
        self.check_copy(self.data(1_000_000), "local", is_by_itself=True)

    def test_without_a_checksum(self):
        """Without a checksum, sendfile() sends the file over tcp."""
        for transport in ("local", "tcp"):
            for size in (0, 1, SLOT_BYTES - 1, SLOT_BYTES, SLOT_BYTES + 1, RING_BYTES - 1, RING_BYTES, RING_BYTES + 1,
                         3_000_017):
                with self.subTest(f"{size} bytes over {transport}"):
                    self.assertIsNone(self.check_copy(self.data(size), transport, "--no-checksum", *SMALL)["digest"])

    def test_a_file_as_standard_input(self):
        """The sender reads from the file's current offset."""
        original = self.data(3_000_017)
        for options in ((), ("--no-checksum",)):
            with self.subTest(options), original.open("rb", buffering=0) as source:
                source.seek(3)
                copy = self.file("copy")
                receiver = self.receiver(copy)
                self.ends(self.sender(receiver.address, "--transport", "tcp", *options, *SMALL, stdin=source))
                self.ends(receiver)
                self.assertTrue(copy.read_bytes() == original.read_bytes()[3:])

    def test_more_than_32_bits_of_a_file(self):
        """sendfile() moves at most 2 GiB a call. The file is sparse, with data at its end."""
        original = self.file("original")
        with original.open("wb") as file:
            file.seek((1 << 32) + 5)
            file.write(b"the end")
        receiver = self.receiver(stdout=subprocess.PIPE)
        with subprocess.Popen(["tail", "-c", "8"], stdin=receiver.process.stdout, stdout=subprocess.PIPE) as tail:
            receiver.process.stdout.close()
            sender = self.sender(receiver.address, original, "--transport", "tcp", "--no-checksum")
            self.ends(sender, seconds=4 * harness.WATCHDOG_S)
            self.ends(receiver)
            self.assertEqual(tail.stdout.read(), b"\0the end")
        self.assertEqual(self.said("received.json")["bytes"], (1 << 32) + 12)

    def test_what_is_said_meanwhile(self):
        original = self.data(30_000_000)
        for source, wanted in ((original, r"^\S+ [kM]B .*\d+ %.* left"), ("-", r"^\S+ [kM]B ")):
            with self.subTest(source), original.open("rb") as file:
                receiver = self.receiver("/dev/null")
                sender = self.sender("-v", receiver.address, source, "--transport", "tcp", "--limit", "10M",
                                     stdin=file if source == original else subprocess.PIPE)
                if source == "-":
                    threading.Thread(target=self.write_input, args=(sender, original.read_bytes())).start()
                line = sender.wait_line(wanted)
                self.assertEqual("%" in line.group(0), source == original, line.group(0))
                receiver.wait_line(r"^\S+ [kM]B ")
                self.ends(sender)
                self.ends(receiver)
                sender.wait_line("the limit was the bottleneck$")
                self.assertEqual(self.said("sent.json")["bottleneck"], "limit")

    @staticmethod
    def write_input(program: harness.Program, data: bytes):
        with program.process.stdin as pipe:
            pipe.write(data)

    def test_three_gibibytes_through_pipes(self):
        """More bytes than 32 bits can count. Sanitized programs would need minutes."""
        size = (3 << 30) if not harness.IS_SANITIZED else (1 << 28) + 1
        generate = ["bash", "-c", f"yes framewire | head -c {size}"]
        wanted = subprocess.run(["bash", "-c", f"{generate[-1]} | md5sum"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        with subprocess.Popen(["md5sum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sums:
            receiver = self.receiver(stdout=sums.stdin)
            sums.stdin.close()
            with subprocess.Popen(generate, stdout=subprocess.PIPE) as source:
                sender = self.sender("-v", receiver.address, "--transport", "tcp", stdin=source.stdout)
                source.stdout.close()
                self.ends(sender, seconds=4 * harness.WATCHDOG_S)
            self.ends(receiver)
            self.assertEqual(sums.stdout.read(), wanted)
        sender.wait_line(r"^Bandwidth [0-9.]+ [kMG]B/s: [0-9.]+ [GM]B in .* over tcp; "
                         r"the (source|wire|sink) was the bottleneck$")
        self.assertEqual(self.said("sent.json")["bytes"], size)

    def test_small_writes_leave_at_once(self):
        for transport in ("local", "tcp"):
            with self.subTest(transport):
                (mine_in, theirs_in), (theirs_out, mine_out) = os.pipe()[::-1], os.pipe()[::-1]
                receiver = self.receiver(stdout=theirs_out)
                sender = self.sender(receiver.address, "--transport", transport, stdin=theirs_in)
                os.close(theirs_in)
                os.close(theirs_out)
                for number in range(50):  # each waits for the one before: a byte that is held back hangs the test
                    word = f"{number};".encode()
                    os.write(mine_in, word)
                    self.assertEqual(os.read(mine_out, 100), word)
                os.close(mine_in)
                self.ends(sender)
                self.ends(receiver)
                self.assertEqual(os.read(mine_out, 100), b"")
                os.close(mine_out)

    def test_the_bottleneck_is_who_was_waited_for(self):
        for bottleneck in ("source", "sink"):
            with self.subTest(bottleneck):
                receiver = self.receiver("--transport", "local", stdout=subprocess.PIPE)
                sender = self.sender(receiver.address, "-v", *SMALL, stdin=subprocess.PIPE)
                slowly = lambda: time.sleep(0.05)
                pauses = {"source": (slowly, lambda: None), "sink": (lambda: None, slowly)}[bottleneck]
                writer = threading.Thread(target=self.write_chunks, args=(sender.process.stdin, pauses[0]))
                writer.start()
                while receiver.process.stdout.read(100_000):
                    pauses[1]()
                writer.join()
                self.ends(sender)
                self.ends(receiver)
                sender.wait_line(f"the {bottleneck} was the bottleneck$")
                self.assertEqual(self.said("sent.json")["bottleneck"], bottleneck)
                receiver.process.stdout.close()

    @staticmethod
    def write_chunks(pipe, pause):
        with pipe:
            for _ in range(40):
                pipe.write(bytes(100_000))
                pause()

    def test_pipes_become_larger(self):
        """The programs enlarge a pipe up to this user's limit, and leave a larger one as it is."""
        (reads, feeds), (drains, writes) = os.pipe(), os.pipe()
        largest = self.largest_pipe(reads, 4 << 20)
        wanted = min(largest, 1 << 20)
        self.assertGreater(wanted, 1 << 16, "this system's pipes cannot become larger: nothing is tried")
        for before, after in {1 << 16: wanted, largest: largest}.items():
            with self.subTest(f"{before} bytes"):
                for pipe in (reads, writes):
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, before)
                receiver = self.receiver(stdout=writes)
                sender = self.sender(receiver.address, stdin=reads)
                os.write(feeds, b"some")
                self.assertEqual(os.read(drains, 10), b"some")
                self.assertEqual([fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) for pipe in (reads, writes)], [after, after])
                sender.interrupt()
                self.ends(sender, harness.FAILED)
                self.ends(receiver, harness.LOST)
        for pipe in (reads, feeds, drains, writes):
            os.close(pipe)

    @staticmethod
    def largest_pipe(pipe: int, size: int) -> int:
        while True:
            try:
                return fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
            except OSError:
                size //= 2

    def test_a_reader_that_takes_its_time(self):
        original = self.data(3_000_000)
        receiver, sink = self.receiver_before_a_pipe()
        sender = self.sender(receiver.address, original, *SMALL)
        came = hashlib.sha256(sink.read(1))
        harness.wait_until(lambda: sender.text.count("transport=") == 1, "the session")
        self.assertTrue(sender.is_running(), "it does not end before all is written")
        while some := sink.read(70_001):
            came.update(some)
        self.ends(sender)
        self.ends(receiver)
        self.assertEqual(came.digest(), hashlib.sha256(original.read_bytes()).digest())

    def test_the_sender_may_listen(self):
        original, copy = self.data(2_000_000), self.file("copy")
        port = harness.free_port()
        sender = self.sender("--listen", f"127.0.0.1:{port}", original)
        receiver = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", "--fsync", copy,
                              "--stats", self.file("received.json"))
        self.ends(receiver)
        self.ends(sender)
        self.assertEqual(copy.read_bytes(), original.read_bytes())
        self.assertTrue(self.said("received.json")["durable"])
        self.assertTrue(self.said("sent.json")["durable"])
        receiver = self.receiver("--fsync", stdout=subprocess.PIPE)
        self.ends(self.sender(receiver.address, self.data(1000)))
        self.ends(receiver)
        self.assertFalse(self.said("received.json")["durable"], "a pipe is no disk")
        self.assertFalse(self.said("sent.json")["durable"])

    def test_through_a_host_in_the_middle(self):
        original, copy = self.data(3_000_000), self.file("copy")
        last = self.receiver(copy)
        middle_out, middle_in = os.pipe()
        first = self.receiver(stdout=middle_in)
        second = self.start(harness.BIN / "rdsend", last.address, stdin=middle_out)
        os.close(middle_in)
        os.close(middle_out)
        for program in (self.sender(first.address, original), first, second, last):
            self.ends(program)
        self.assertEqual(copy.read_bytes(), original.read_bytes())

    def test_no_faster_than_the_limit(self):
        sender = self.check_copy(self.data(2_000_000), "tcp", "--limit", "4M", *SMALL)
        self.assertGreaterEqual(sender["seconds"], 0.46)

    def test_a_limit_of_a_byte_a_second(self):
        """The copy never has more bytes than the limit allows for the time so far."""
        original = self.data(5000)
        for options in ((), ("--no-checksum", "--transport", "tcp")):  # the second uses sendfile()
            with self.subTest(options):
                copy = self.file("copy")
                copy.unlink(missing_ok=True)
                receiver = self.receiver(copy)
                began_s = time.monotonic()
                sender = self.sender(receiver.address, original, "--limit", "1", *options)
                harness.wait_until(lambda: copy.exists() and copy.stat().st_size >= 2, "two bytes")
                size, seconds = copy.stat().st_size, time.monotonic() - began_s
                self.assertLessEqual(size, 1 + seconds)
                sender.interrupt()
                self.ends(sender, harness.FAILED)
                self.ends(receiver, harness.LOST)

    # ---- failures

    def test_a_full_disk(self):
        receiver = self.receiver("/dev/full")
        sender = self.sender(receiver.address, self.data(1_000_000))
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)
        self.one_message(receiver, "/dev/full", "No space left on device")
        self.one_message(sender, "the receiver failed", "No space left on device")

    def test_a_reader_that_leaves(self):
        reads, writes = os.pipe()
        receiver = self.receiver(stdout=writes)
        os.close(writes)
        sender = self.sender(receiver.address, stdin=subprocess.PIPE)
        sender.process.stdin.write(b"one")
        sender.process.stdin.flush()
        self.assertEqual(os.read(reads, 10), b"one")
        os.close(reads)
        sender.process.stdin.write(b"two")
        sender.process.stdin.flush()
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)  # although its input is still open
        self.one_message(receiver, "the reader of standard output has gone")
        self.one_message(sender, "the receiver ended after", "has gone")
        sender.process.stdin.close()

    def test_a_file_that_shrinks(self):
        original = self.file("shrinks")
        original.write_bytes(bytes(8 << 20))
        receiver, sink = self.receiver_before_a_pipe()
        sender = self.sender(receiver.address, original, *SMALL)
        sink.read(1)
        os.truncate(original, 4 << 20)
        self.assertLess(len(sink.read()), 4 << 20)
        self.ends(sender, harness.FAILED)
        self.ends(receiver, harness.FAILED)
        self.one_message(sender, "became shorter while it was read")
        self.one_message(receiver, "the sender's source failed", "became shorter")

    def test_a_file_that_is_written_to_meanwhile(self):
        """Its bytes are copied from then on, so that the digest is that of what arrives."""
        original = self.file("changes")
        original.write_bytes(bytes(8 << 20))
        os.utime(original, (1, 1))  # the clock of files is coarse
        receiver, sink = self.receiver_before_a_pipe()
        sender = self.sender(receiver.address, original, "--transport", "tcp", *SMALL)
        came = sink.read(1)
        with original.open("r+b") as file:
            file.seek(7 << 20)
            file.write(os.urandom(1 << 20))
        came += sink.read()
        self.ends(sender)
        self.ends(receiver)
        self.assertTrue(came == original.read_bytes())

    def test_a_file_that_is_written_to_when_its_bytes_are_on_their_way(self):
        """sendfile() sends pages, not copies: what is in the socket changes, too, and the receiver finds that."""
        original = self.file("changes")
        original.write_bytes(bytes(64 << 20))
        receiver, sink = self.receiver_before_a_pipe()
        sender = self.sender(receiver.address, original, "--transport", "tcp", *SMALL)
        sink.read(1)
        taken = fcntl.fcntl(sink, fcntl.F_GETPIPE_SZ) + RING_BYTES  # at most, by the receiver
        read = pathlib.Path(f"/proc/{sender.process.pid}/io")
        harness.wait_until(lambda: int(read.read_text().split()[1]) > taken + (512 << 10), "bytes in the socket")
        with original.open("r+b") as file:
            file.write(os.urandom(64 << 20))
        came = sink.read()
        self.ends(sender, harness.FAILED)
        self.ends(receiver, harness.FAILED)
        self.one_message(receiver, "are not those that the sender read: they were changed on their way, or in its file")
        self.one_message(sender, "the receiver failed", "are not those that the sender read")
        self.assertEqual(came.strip(b"\0"), b"")

    def test_a_file_that_shrinks_while_the_kernel_sends_it(self):
        """Without a checksum rdsend does not read the file: sendfile() finds its end, in the middle of a chunk."""
        original = self.file("shrinks")
        original.write_bytes(os.urandom(64 << 20))
        receiver, sink = self.receiver_before_a_pipe()
        sender = self.sender(receiver.address, original, "--transport", "tcp", "--no-checksum", *SMALL)
        sink.read(1)
        os.truncate(original, 100)
        came = sink.read()
        self.ends(sender, harness.FAILED)
        self.ends(receiver, harness.LOST)
        self.one_message(sender, "became shorter while it was read")
        self.one_message(receiver, "lost the sender after .*became shorter while it was sent.*not complete")
        self.assertLess(len(came), 64 << 20)

    def midway(self, *options):
        """Starts a receiver and a sender whose input is still open."""
        receiver = self.receiver(self.file("copy"))
        sender = self.sender(receiver.address, "--transport", "tcp", *options, stdin=subprocess.PIPE)
        sender.process.stdin.write(b"some")
        sender.process.stdin.flush()
        harness.wait_until(lambda: self.file("copy").exists() and self.file("copy").read_bytes() == b"some",
                           "the first bytes")
        self.addCleanup(sender.process.stdin.close)
        return receiver, sender

    def test_a_sender_that_is_killed(self):
        receiver, sender = self.midway()
        sender.kill()
        self.ends(receiver, harness.LOST)
        self.one_message(receiver, "lost the sender after 4 B", "not complete")

    def test_a_receiver_that_is_killed(self):
        receiver, sender = self.midway()
        receiver.kill()
        self.ends(sender, harness.LOST)
        self.one_message(sender, "lost the receiver after 4 B")

    def test_a_sender_that_is_interrupted(self):
        receiver, sender = self.midway()
        sender.interrupt()
        self.ends(sender, harness.FAILED)
        self.ends(receiver, harness.LOST)
        self.one_message(sender, "interrupted after 4 B")
        self.one_message(receiver, "after 4 B", "not complete")

    def test_a_receiver_that_is_interrupted(self):
        receiver, sender = self.midway()
        receiver.interrupt()
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)
        self.one_message(sender, "the receiver failed after 4 B: .*interrupted")

    def test_a_reader_that_stands_still_holds_up_no_end(self):
        reads, writes = os.pipe()
        self.addCleanup(os.close, reads)
        receiver = self.receiver(stdout=writes)
        os.close(writes)
        sender = self.sender(receiver.address, self.data(20_000_000), *SMALL)
        harness.wait_until(lambda: "transport=" in sender.text, "the session")
        receiver.interrupt()
        self.ends(receiver, harness.FAILED)
        self.ends(sender, harness.FAILED)

    def test_an_attempt_that_is_under_way_is_awaited(self):
        original, copy = self.data(100_000), self.file("copy")
        receiver = self.receiver(copy)
        self.ends(self.sender(receiver.address, original, "--retry", "1ms"))
        self.ends(receiver)
        self.assertEqual(copy.read_bytes(), original.read_bytes())

    def test_nobody_there(self):
        sender = self.sender(f"127.0.0.1:{self.refusing_port()}", "--retry", "500ms", stdin=subprocess.DEVNULL)
        self.ends(sender, harness.LOST)
        self.one_message(sender, r"no receiver came at 127\.0\.0\.1:(\d+); "
                                 r"start one there with rdrecv --listen '\*:\1' > FILE$")
        self.assertEqual(len([line for line in sender.lines if "nothing listens" in line]), 1, sender.text)
        self.assertIn("no receiver came", self.said("sent.json")["error"],
                      "what stands there is of the last run, however it ended")
        self.assertIsNone(self.said("sent.json")["bytes_written"], "nobody said so")
        sender = self.sender("--listen", "127.0.0.1:0", "--retry", "500ms", stdin=subprocess.DEVNULL)
        self.ends(sender, harness.LOST)
        self.one_message(sender, "no receiver came")
        sender = self.sender("no-such-host.invalid", "--retry", "500ms", stdin=subprocess.DEVNULL)
        self.ends(sender, harness.LOST)
        self.one_message(sender, "no receiver came: the host 'no-such-host.invalid' is not known")
        receiver = self.start(harness.BIN / "rdrecv", "--listen", "127.0.0.1:0", "--retry", "500ms")
        self.ends(receiver, harness.LOST)
        self.one_message(receiver, "no sender came")

    def test_a_file_that_the_kernel_cannot_read_is_not_the_receivers_fault(self):
        unreadable = pathlib.Path("/sys/class/net/lo/speed")  # stat() gives a size, but read() fails
        if not unreadable.exists():
            self.skipTest(f"no {unreadable}")
        for options in (("--no-checksum",), ()):
            with self.subTest(options):
                receiver = self.receiver("/dev/null")
                sender = self.sender("--transport", "tcp", *options, receiver.address, unreadable)
                self.ends(sender, harness.FAILED)
                self.one_message(sender, "cannot read '/sys/class/net/lo/speed': Invalid argument")
                self.assertIn("cannot read", self.said("sent.json")["error"])
                self.assertNotEqual(receiver.wait_end(), harness.OK)
                self.assertTrue(self.said("received.json")["error"])

    def test_unauthenticated_peers_and_wrong_keys(self):
        for name in ("one", "other"):
            self.ends(self.start(harness.BIN / "framewire-key", "--file", self.file(name)))
        receiver = self.receiver(self.file("copy"), "--key", self.file("one"))
        port = int(receiver.address.split(":")[1])
        with socket.create_connection(("127.0.0.1", port)) as unrecognized:
            unrecognized.sendall(b"GET / HTTP/1.0\r\n\r\n")
            wrong = self.sender(receiver.address, "--key", self.file("other"), stdin=subprocess.DEVNULL)
            self.ends(wrong, harness.REFUSED)
            original = self.data(100_000)
            self.ends(self.sender(receiver.address, "--key", self.file("one"), original))
        self.ends(receiver)
        self.assertEqual(self.file("copy").read_bytes(), original.read_bytes())

    def test_bad_words(self):
        for program, arguments, status, wanted in (
                ("rdsend", (), harness.USAGE, "HOST"),
                ("rdsend", ("h", "f", "g"), harness.USAGE, "'g'"),
                ("rdsend", ("--listen", "127.0.0.1:0", "f", "g"), harness.USAGE, "'g'"),
                ("rdsend", ("127.0.0.1", "/no/such/file"), harness.FAILED, "/no/such/file"),
                ("rdsend", ("127.0.0.1", "/"), harness.FAILED, "is a directory.*tar"),
                ("rdsend", ("127.0.0.1", "--limit", "0"), harness.USAGE, "--limit"),
                ("rdsend", ("127.0.0.1", "--slot-bytes", "1G"), harness.USAGE, "--slot-bytes"),
                ("rdsend", ("127.0.0.1", "--slots", "1"), harness.USAGE, "--slots"),
                ("rdsend", ("127.0.0.1", "--transport", "pigeon"), harness.USAGE, "'pigeon'"),
                ("rdrecv", ("/no/such/folder/file",), harness.FAILED, "/no/such/folder/file"),
                ("rdrecv", ("/",), harness.FAILED, "a directory"),
                ("rdrecv", ("--listen", "*:0"), harness.REFUSED, "key"),
                ("rdrecv", ("--from", "h", "--listen", "*:1"), harness.USAGE, "--from"),
                ("rdrecv", ("a", "b"), harness.USAGE, "b")):
            with self.subTest(f"{program} {arguments}"):
                ended = self.run_to_end(harness.BIN / program, *arguments)
                self.assertEqual(ended.process.returncode, status, ended.text)
                self.one_message(ended, wanted)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    harness.main()
