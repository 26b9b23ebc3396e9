"""The source of rdsend or the sink of rdrecv fails: full, gone, unreadable, stopped. Both programs report it soon."""
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import tty
import unittest

import harness
from byte_programs import SMALL, BytePrograms

SOON_S = 8 * harness.TIMEOUT_SCALE
RETRY = f"{0.5 * harness.TIMEOUT_SCALE}"
MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
CAN_MOUNT = subprocess.run([*MOUNTS, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                           check=False).returncode == 0
NOBODY = ["setpriv", "--reuid=65534", "--clear-groups"]
CAN_BE_NOBODY = os.geteuid() == 0 and subprocess.run([*NOBODY, harness.BIN / "rdsend", "--version"],
                                                     capture_output=True, check=False).returncode == 0


class Ends(BytePrograms):
    def both_fail(self, receiver, sender, receiver_says: tuple, sender_says: tuple):
        self.ends(receiver, harness.FAILED, SOON_S)
        self.ends(sender, harness.FAILED, SOON_S)
        self.one_message(receiver, *receiver_says)
        self.one_message(sender, *sender_says)

    def pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        for end in ends:
            self.addCleanup(self.close, end)
        return ends

    @staticmethod
    def close(descriptor: int):
        try:
            os.close(descriptor)
        except OSError:
            pass  # the test has closed it

    def comes(self, copy, wanted: bytes):
        harness.wait_until(lambda: copy.exists() and copy.read_bytes() == wanted, f"{wanted} to come")

    def start_sender(self, receiver, *options) -> harness.Program:
        """Starts a sender whose source never ends."""
        sender = self.sender(receiver.address, *options, stdin=subprocess.PIPE)
        yes = subprocess.Popen(["yes"], stdout=sender.process.stdin)
        sender.process.stdin.close()
        self.addCleanup(yes.wait)
        self.addCleanup(yes.kill)
        sender.source = yes
        return sender

    # ---- source and sink are the same file

    def test_the_same_file_is_refused_before_anything_is_lost(self):
        original = self.data(300_001)
        whole = original.read_bytes()
        hard, soft = self.file("hard link"), self.file("soft link")
        os.link(original, hard)
        soft.symlink_to(original)
        for name, options in ((original, ()), (hard, ()), (soft, ()), (original, ("--no-checksum",)),
                              (original, ("--transport", "tcp"))):
            for is_sender_waiting in (False, True):
                with self.subTest(f"{name.name} {options}", is_sender_waiting=is_sender_waiting):
                    receiver, sender = self.both(name, original, *options, is_sender_waiting=is_sender_waiting)
                    same = "and the file that the sender reads are the same file"
                    self.both_fail(receiver, sender, (same, name.name), (same, name.name))
                    self.assertTrue(original.read_bytes() == whole)

    def test_the_same_file_by_way_of_standard_streams(self):
        """The shell opened the file with >> and did not truncate it: its bytes stay."""
        original = self.data(5)
        whole = original.read_bytes()
        with original.open("rb") as source, original.open("ab") as sink:
            receiver = self.receiver(stdout=sink)
            self.both_fail(receiver, self.sender(receiver.address, stdin=source),
                           ("standard output", "are the same file"), ("are the same file",))
        self.assertEqual(original.read_bytes(), whole)

    def test_statistics_in_the_file_of_a_standard_stream(self):
        original = self.data(5)
        whole = original.read_bytes()
        for name, of_file in (("rdsend", "stdin"), ("rdrecv", "stdout")):
            with self.subTest(name), original.open("r+b") as data:
                host = ["localhost"] if name == "rdsend" else []
                program = self.start(harness.BIN / name, *host, "--stats", original.name, **{of_file: data})
                self.ends(program, harness.USAGE)
                self.one_message(program, "--stats", original.name, "name another file")
                self.assertEqual(original.read_bytes(), whole)

    def test_what_only_looks_like_the_same_file(self):
        """Allowed: a copy, a file that replaces an older one, and a device."""
        original, other = self.data(10_000), self.file("other")
        other.write_bytes(original.read_bytes() + b"longer")
        receiver, sender = self.both(other, original)
        self.ends(receiver)
        self.ends(sender)
        self.assertEqual(other.read_bytes(), original.read_bytes())
        receiver, sender = self.both(pathlib.Path("/dev/null"), "/dev/null")
        self.ends(receiver)
        self.ends(sender)

    # ---- rdrecv's sink

    @unittest.skipUnless(CAN_MOUNT, "this machine lets nobody mount a tmpfs here: neither root nor unshare -rm")
    def test_no_room(self):
        room = 4 << 20
        disk = self.file("disk")
        disk.mkdir()
        mounted = f'mount -t tmpfs -o size={room} none "{disk}" && exec "$@"'
        for how, script, arguments in (("a file", mounted, [disk / "copy"]),
                                       ("a redirection", f'{mounted} > "{disk}/copy"', [])):
            for size in (room + 1, 5 * room):  # full at the last byte, and long before
                for transport in ("local", "tcp"):
                    with self.subTest(f"{how}, {size} bytes over {transport}"):
                        receiver = self.receiver(*arguments, prefix=[*MOUNTS, "sh", "-c", script, "sh"])
                        sender = self.sender(receiver.address, self.data(size), "--transport", transport, *SMALL)
                        self.both_fail(receiver, sender, ("No space left on device",),
                                       ("the receiver failed after [0-9.]+ MB", "No space left on device"))

    def test_a_file_that_may_grow_no_more(self):
        receiver = self.receiver(self.file("copy"), prefix=["prlimit", "--fsize=100000"])
        sender = self.sender(receiver.address, self.data(1_000_000), *SMALL)
        self.both_fail(receiver, sender, ("'.*copy'", "File too large"), ("after 100.0 kB", "File too large"))
        self.assertEqual(self.file("copy").stat().st_size, 100_000)

    def test_head_behind_and_yes_before(self):
        for transport in ("local", "tcp"):
            with self.subTest(transport):
                with subprocess.Popen(["head", "-c", "10"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as head:
                    receiver = self.receiver(stdout=head.stdin)
                    head.stdin.close()
                    sender = self.start_sender(receiver, "--transport", transport)
                    self.assertEqual(head.stdout.read(), b"y\ny\ny\ny\ny\n")
                    self.both_fail(receiver, sender, ("the reader of standard output has gone",),
                                   ("the receiver ended after", "has gone"))
                    self.assertEqual(sender.source.wait(harness.WATCHDOG_S), -signal.SIGPIPE)

    def check_interrupted(self, receiver, sender):
        receiver.interrupt()
        self.both_fail(receiver, sender, ("interrupted",), ("the receiver failed", "interrupted"))

    def test_a_named_pipe_that_nobody_reads(self):
        os.mkfifo(self.file("pipe"))
        receiver = self.receiver(self.file("pipe"))
        sender = self.start_sender(receiver)
        sender.wait_line("transport=local")
        # However short the pieces are in which it reads them: each takes a slot, and there are a dozen.
        harness.wait_until(lambda: self.written_by(sender.source) > 1 << 16, "bytes that somebody should read")
        self.check_interrupted(receiver, sender)

    @staticmethod
    def written_by(process: subprocess.Popen) -> int:
        """The bytes that it has written. More than a pipe holds means that the sender has read some."""
        return int(re.search(r"wchar: (\d+)", pathlib.Path(f"/proc/{process.pid}/io").read_text()).group(1))

    def test_a_named_pipe_whose_reader_stands_still(self):
        os.mkfifo(self.file("pipe"))
        reader = os.open(self.file("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        receiver = self.receiver(self.file("pipe"))
        sender = self.start_sender(receiver)
        harness.wait_until(lambda: self.is_readable(reader), "the first bytes")
        self.check_interrupted(receiver, sender)

    @staticmethod
    def is_readable(descriptor: int) -> bool:
        try:
            return len(os.read(descriptor, 1)) == 1
        except BlockingIOError:
            return False

    def test_a_socket_whose_reader_stands_still(self):
        ours, theirs = socket.socketpair()
        with ours:
            receiver = self.receiver(stdout=theirs)
            theirs.close()
            sender = self.start_sender(receiver)
            self.assertEqual(ours.recv(1), b"y")
            self.check_interrupted(receiver, sender)

    def test_no_standard_output(self):
        receiver = self.run_to_end("sh", "-c", 'exec "$@" >&-', "sh", harness.BIN / "rdrecv", "--listen", "127.0.0.1:0")
        self.ends(receiver, harness.FAILED)
        self.one_message(receiver, "standard output is closed", "name a FILE")

    def test_a_file_of_another_user(self):
        if not CAN_BE_NOBODY:
            self.skipTest("needs root, and programs that everybody may run")
        for program, arguments in (("rdsend", ("127.0.0.1:1", self.data(10).name)), ("rdrecv", (self.data(11).name,))):
            ended = self.run_to_end(*NOBODY, harness.BIN / program, *arguments)
            self.ends(ended, harness.FAILED)
            self.one_message(ended, "data-1[01]", "Permission denied")

    def test_a_program_that_runs(self):
        program = self.file("program")
        shutil.copy("/bin/sleep", program)
        self.start(program, "1000")
        receiver = self.receiver(program)
        sender = self.sender(receiver.address, self.data(10))
        self.both_fail(receiver, sender, ("cannot write '.*program': Text file busy",), ("Text file busy",))

    def wait_for_listener(self, receiver, port: int):
        """Waits until the receiver listens, or has ended because it could not."""
        harness.wait_until(lambda: harness.listening_on(port) or not receiver.is_running(), "a listener, or its end")

    @unittest.skipIf(harness.IS_SANITIZED, "a sanitizer opens pipes to see whether memory is there")
    def test_too_few_open_files(self):
        """With too few descriptors the receiver reports it, at every open(). With enough the transfer succeeds."""
        original, worked = self.data(10), []
        for most in range(8, 28):
            with self.subTest(most):
                port = harness.free_port()
                receiver = self.start("prlimit", f"--nofile={most}", harness.BIN / "rdrecv",
                                      "--listen", f"127.0.0.1:{port}", self.file("copy"))
                self.wait_for_listener(receiver, port)
                sender = self.start(harness.BIN / "rdsend", "--transport", "local", "--retry", RETRY,
                                    f"127.0.0.1:{port}", original)
                worked.append(sender.wait_end() == harness.OK)
                receiver.interrupt()
                receiver.wait_end()
                if not worked[-1]:
                    self.assertRegex(receiver.text, "Too many open files")
        self.assertTrue(worked[-1])
        self.assertFalse(worked[0])

    @unittest.skipIf(harness.IS_SANITIZED, "a sanitizer needs terabytes of addresses")
    def test_too_little_memory(self):
        """With any limit the receiver ends with a documented status and does not crash."""
        original = self.data(3_000_000)
        for kilobytes in range(30_000, 100_000, 5_000):
            for transport in ("local", "tcp"):
                with self.subTest(f"{kilobytes} kB over {transport}"):
                    port = harness.free_port()
                    receiver = self.start("prlimit", f"--as={kilobytes * 1000}", harness.BIN / "rdrecv",
                                          "--listen", f"127.0.0.1:{port}", self.file("copy"))
                    self.wait_for_listener(receiver, port)
                    sender = self.start(harness.BIN / "rdsend", "--transport", transport, "--retry", RETRY,
                                        f"127.0.0.1:{port}", original)
                    sender.wait_end()
                    receiver.interrupt()
                    self.assertIn(receiver.wait_end(), (harness.OK, harness.FAILED, harness.LOST, harness.REFUSED, 127),
                                  receiver.text)

    # ---- rdsend's source

    def test_a_file_whose_read_waits(self):
        """A read of the kernel's log blocks. The sender still ends at Ctrl-C, or when it loses the receiver."""
        try:
            os.close(os.open("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK))
        except OSError as error:
            self.skipTest(f"/proc/kmsg: {error}")
        for victim in ("sender", "receiver"):
            with self.subTest(victim):
                receiver = self.receiver(self.file("copy"))
                sender = self.sender(receiver.address, "/proc/kmsg")
                sender.wait_line("transport=")
                if victim == "sender":
                    sender.interrupt()
                    self.ends(sender, harness.FAILED, SOON_S)
                    receiver.wait_end()
                else:
                    receiver.kill()
                    self.ends(sender, harness.LOST, SOON_S)

    def test_an_error_of_the_source_is_no_end(self):
        """/proc/self/mem fails with EIO at address 0, as a broken disk does."""
        for transport in ("local", "tcp"):
            receiver = self.receiver(self.file(f"copy-{transport}"))
            sender = self.sender(receiver.address, "/proc/self/mem", "--transport", transport)
            self.both_fail(receiver, sender,
                           ("the sender's source failed after 0 B", "/proc/self/mem", "Input/output error"),
                           ("cannot read '/proc/self/mem': Input/output error",))

    def test_an_error_in_the_middle(self):
        """A pseudo-terminal's master reads EIO when the last slave is closed."""
        leads, follows = pty.openpty()
        tty.setraw(follows)
        copy = self.file("copy")
        receiver = self.receiver(copy)
        sender = self.sender(receiver.address, stdin=leads)
        os.close(leads)
        os.write(follows, b"some")
        self.comes(copy, b"some")
        os.close(follows)
        self.both_fail(receiver, sender, ("the sender's source failed after 4 B", "Input/output error"),
                       ("standard input: Input/output error",))
        self.assertEqual(copy.read_bytes(), b"some")

    def test_a_terminal(self):
        for ending in ("typed", "hung up"):
            with self.subTest(ending):
                leads, follows = pty.openpty()
                copy = self.file(f"copy-{ending}")
                receiver = self.receiver(copy)
                sender = self.sender(receiver.address, stdin=follows)
                os.close(follows)
                os.write(leads, b"some\n")
                self.comes(copy, b"some\n")
                if ending == "typed":
                    os.write(leads, b"\x04")
                    self.ends(sender)
                    self.ends(receiver)
                os.close(leads)
                if ending == "hung up":
                    self.both_fail(receiver, sender, ("the sender's source failed after 5 B", "hung up"),
                                   ("the terminal of standard input hung up",))

    def test_no_standard_input(self):
        receiver = self.receiver(self.file("copy"))
        sender = self.sender(receiver.address, prefix=["sh", "-c", 'exec "$@" <&-', "sh"])
        self.both_fail(receiver, sender, ("the sender's source failed after 0 B",),
                       ("cannot read standard input", "Bad file descriptor"))

    def test_a_directory_as_standard_input(self):
        folder = os.open("/", os.O_RDONLY)
        sender = self.sender("127.0.0.1:1", stdin=folder)
        os.close(folder)
        self.ends(sender, harness.FAILED)
        self.one_message(sender, "standard input is a directory", "tar")

    def test_without_standard_error(self):
        original, copy = self.data(100_000), self.file("copy")
        silent = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
        port = harness.free_port()
        receiver = self.start(*silent, harness.BIN / "rdrecv", "--listen", f"127.0.0.1:{port}", copy)
        sender = self.sender(f"127.0.0.1:{port}", original, prefix=silent)
        self.ends(sender)
        self.ends(receiver)
        self.assertEqual(copy.read_bytes(), original.read_bytes())

    def test_a_file_that_grows(self):
        """The sender reads to the end that the file has when the sender gets there."""
        original = self.data(4_000_000)
        receiver, sink = self.receiver_before_a_pipe()
        sender = self.sender(receiver.address, original, *SMALL)
        came = sink.read(1)
        with original.open("ab") as more:
            more.write(os.urandom(500_000))
        came += sink.read()
        self.ends(sender)
        self.ends(receiver)
        self.assertTrue(came == original.read_bytes())

    def test_a_named_pipe_that_nobody_writes(self):
        os.mkfifo(self.file("pipe"))
        alone = self.sender("-v", "--listen", "127.0.0.1:0", self.file("pipe"))
        alone.wait_line("^listening on ")
        receiver = self.receiver(self.file("copy"))
        sender = self.sender(receiver.address, self.file("pipe"))
        sender.wait_line("transport=")
        alone.interrupt()
        sender.interrupt()
        self.ends(alone, harness.FAILED, SOON_S)
        self.ends(sender, harness.FAILED, SOON_S)
        self.ends(receiver, harness.LOST, SOON_S)
        self.one_message(sender, "interrupted (after 0 B|before a receiver came)")  # before or after the session began
        self.assertFalse(self.file("copy").exists(), "nothing came: an older file would still be there")

    def test_named_pipes_at_both_ends(self):
        """Writer and reader open the pipes after the session begins, and move the data in several parts."""
        into, out = self.file("in"), self.file("out")
        os.mkfifo(into)
        os.mkfifo(out)
        for transport in ("local", "tcp"):
            receiver = self.receiver(out)
            sender = self.sender(receiver.address, into, "--transport", transport, *SMALL)
            sender.wait_line("transport=")
            original = self.data(3_000_000)
            writer = subprocess.Popen(["dd", f"if={original}", f"of={into}", "bs=70001", "status=none"])
            came = out.read_bytes()
            self.assertEqual(writer.wait(harness.WATCHDOG_S), 0)
            self.ends(sender)
            self.ends(receiver)
            self.assertTrue(came == original.read_bytes())


if __name__ == "__main__":
    harness.main()
