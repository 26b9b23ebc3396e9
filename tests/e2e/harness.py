"""Common code of the end-to-end tests: starts the real programs, watches them, and ends each by its process id.

Every wait has a deadline, a long one because test machines are slow. Nothing here measures time. FRAMEWIRE_BIN names
the folder of the programs. FRAMEWIRE_TIMEOUT_SCALE multiplies every deadline, for sanitizers.
"""
import contextlib
import ctypes
import errno
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import typing
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("FRAMEWIRE_BIN", REPOSITORY / "build" / "dev" / "bin"))
TIMEOUT_SCALE = float(os.environ.get("FRAMEWIRE_TIMEOUT_SCALE", "1"))
IS_SANITIZED = TIMEOUT_SCALE > 1  # sanitizers change memory use and speed
WATCHDOG_S = 30 * TIMEOUT_SCALE  # a wait that takes longer counts as a hang
# The log line for an asynchronous event of an RDMA device.
DEVICE_EVENT = r": warning: the RDMA device \S+ reports: "
STATISTICS_DOCUMENT = REPOSITORY / "docs" / "statistics.md"
LATE_GOODBYE = "the viewer took all frames, but did not say goodbye in time"  # --stats: of a session of the sender
OK, FAILED, USAGE, REFUSED, LOST = range(5)  # exit statuses
# A shell ignores SIGINT for background jobs, and the programs that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
TRACES_OF_A_CRASH = re.compile(r"terminate called|Assertion|Segmentation|AddressSanitizer|ThreadSanitizer|"
                               r"runtime error|#0 0x")


def free_port(address: str = "127.0.0.1", count: int = 1) -> int:
    """A TCP port for a listener of this test, or the first of `count` ports one after the other.

    It is held until this process ends, so that nobody else is given it: bound, and not listened on, so that it refuses
    connections. A listener with SO_REUSEADDR may bind it, too.
    """
    while True:
        first = 0
        try:
            for number in range(count):
                probe = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
                probe.bind((address, first + number if first else 0))
                first = first or probe.getsockname()[1]
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # from now on: it shares no other's port
                probe.detach()  # nothing closes it
            return first
        except OverflowError:  # there is none behind the last one
            pass
        except OSError as error:
            if error.errno != errno.EADDRINUSE:  # another program has one of them
                raise


def listening_on(port: int) -> set[str]:
    """The addresses that are listened on at `port`: the kernel's hexadecimal, without leading and trailing zeros."""
    return {end.local.split(":")[0].strip("0") for end in tcp_ends(port, "0A")}


def payload_moves_to(port: int) -> bool:
    """Whether payload has begun: a connection's queue holds more bytes than any of our handshakes."""
    return any(max(int(queue, 16) for queue in end.queues.split(":")) > 65536 for end in tcp_ends(port, "01"))


class TcpEnd(typing.NamedTuple):
    """One line of /proc/net/tcp."""
    local: str
    remote: str
    state: str  # net/tcp_states.h
    queues: str  # in bytes, "sent:received"


def tcp_ends(port: int, state: str) -> list[TcpEnd]:
    """This machine's TCP sockets in that state whose local or remote port is `port`."""
    lines = [line for table in ("tcp", "tcp6")
             for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]]
    ends = [TcpEnd(*line.split()[1:5]) for line in lines]
    return [end for end in ends if end.state == state and f":{port:04X}" in {end.local[-5:], end.remote[-5:]}]


def wait_until(condition, what: str, seconds: float = WATCHDOG_S, poll_interval_s: float = 0.02):
    """The first true value of `condition`; fails the test at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}")
        time.sleep(poll_interval_s)


def first_enough(attempt, *amounts):
    """The first true value of `attempt`, which is given ever larger amounts: a busy machine needs more than others."""
    for amount in amounts:
        if value := attempt(amount):
            return value
    raise AssertionError(f"{amounts[-1]} was not enough")


def has_ipv6() -> bool:
    """Whether this machine has ::1: containers may have no IPv6 at all."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


def has_cuda_driver() -> bool:
    """Whether programs find a libcuda.so.1 by themselves; the toolkit's own libcuda.so is only for linking."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


def require_tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise AssertionError(f"{name} is not installed; scripts/setup --tests installs it")
    return found


class Program:
    """One running program. Its stderr is kept by line; stdout goes where `stdout` says, else nowhere."""

    def __init__(self, arguments, environment, *, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, terminal=False,
                 folder=None, pass_fds=()):
        self.arguments = [str(argument) for argument in arguments]
        names = [pathlib.Path(argument).name for argument in self.arguments]
        self.name = next((name for name in names if name.startswith(("framewire", "rdsend", "rdrecv", "rdpipe"))),
                         names[0])
        self.lines: list[str] = []
        self._changed = threading.Condition()
        reads, writes = pty.openpty() if terminal else os.pipe()
        self.process = subprocess.Popen(self.arguments, env=environment, stdin=stdin, stdout=stdout, stderr=writes,
                                        cwd=folder, start_new_session=True, pass_fds=pass_fds)
        os.close(writes)
        self._thread = threading.Thread(target=self._read, args=(reads,), daemon=True)
        self._thread.start()

    def _read(self, reads: int):
        rest = b""
        while True:
            try:
                some = os.read(reads, 65536)
            except OSError:  # EIO: the end of a pseudo-terminal
                some = b""
            *whole, rest = re.split(rb"[\r\n]+", rest + some)
            with self._changed:
                ended = whole if some else [*whole, rest]
                self.lines += [line.replace(b"\x1b[K", b"").decode(errors="replace") for line in ended if line]
                self._changed.notify_all()
            if not some:
                os.close(reads)
                return

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def text(self) -> str:
        with self._changed:
            return "\n".join(self.lines)

    def complaints(self) -> list[str]:
        """The lines that begin with its name, without what an RDMA device reports by itself, such as a cut cable."""
        return [line for line in self.lines if line.startswith(f"{self.name}: ") and not re.search(DEVICE_EVENT, line)]

    def is_running(self) -> bool:
        return self.process.poll() is None

    def wait_line(self, pattern: str, seconds: float = WATCHDOG_S, after: int = 0) -> re.Match:
        """The first line (from number `after` on) in which `pattern` is found."""
        wanted = re.compile(pattern)
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for line in self.lines[after:]:
                    if match := wanted.search(line):
                        return match
                has_ended = not self._thread.is_alive()
                if has_ended or time.monotonic() > deadline:
                    how = f"ended with {self.process.wait(WATCHDOG_S)}" if has_ended else f"waited {seconds:.0f} s"
                    raise AssertionError(f"{self.name} ({how}) did not say /{pattern}/ but:\n" + "\n".join(self.lines))
                self._changed.wait(0.05)

    def wait_end(self, seconds: float = WATCHDOG_S) -> int:
        """Waits for the end; returns the exit status, or the negative signal number."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self} did not end within {seconds:.0f} s; it said:\n{self.text}\n"
                                 f"{self._where_it_is()}") from None
        self._thread.join(WATCHDOG_S)
        return status

    def _where_it_is(self) -> str:
        """Where the kernel says that its threads are, as far as /proc can be read."""
        def told(thread: pathlib.Path, name: str) -> str:
            try:
                return " ".join((thread / name).read_text().split())
            except OSError:
                return "?"
        return "\n".join(f"thread {told(thread, 'comm')}: state {told(thread, 'stat').rpartition(')')[2][:2]}, "
                         f"in {told(thread, 'wchan')}, "
                         f"system call {told(thread, 'syscall')}, {told(thread, 'stack')}"
                         for thread in sorted(pathlib.Path(f"/proc/{self.pid}/task").iterdir()))

    def signal(self, number: int):
        if self.is_running():
            os.kill(self.pid, number)

    def interrupt(self):
        self.signal(signal.SIGINT)

    def kill(self):
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        return self.wait_end()

    def pause(self):
        """Stops it; returns when the kernel reports it as stopped."""
        self.signal(signal.SIGSTOP)
        wait_until(lambda: self.state() == "T", f"{self} to stop")

    def go_on(self):
        self.signal(signal.SIGCONT)

    def state(self, thread: str = "") -> str:
        """The kernel's state of its thread of that name, or of its first one: R runnable, S sleeping, T stopped."""
        for task in pathlib.Path(f"/proc/{self.pid}/task").iterdir() if thread else ():
            with contextlib.suppress(OSError):  # it may have ended
                if (task / "comm").read_text().strip() == thread:
                    return (task / "stat").read_text().rsplit(")", 1)[1].split()[0]
        if thread:
            raise AssertionError(f"{self} has no thread {thread}")
        return pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

    def memory_kb(self) -> int:
        """Its resident memory, without pages that it shares with other processes."""
        return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{self.pid}/status").read_text()).group(1))

    def shared_memory_kb(self) -> int:
        """The memory that it has touched and shares with others, such as the frames of its pools."""
        return int(re.search(r"RssShmem:\s+(\d+)", pathlib.Path(f"/proc/{self.pid}/status").read_text()).group(1))

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def wait_descriptors(self, most: int) -> int:
        """Waits until it has at most so many descriptors, and returns how many. It logs the end of a session before it
        has closed all of that session's."""
        return wait_until(lambda: now if (now := self.descriptors()) <= most else 0, f"at most {most} descriptors")

    def settled_descriptors(self) -> int:
        """The number of descriptors once it is stable: sessions that begin or end open and close some."""
        readings = [self.descriptors()]

        def are_settled():
            readings.append(self.descriptors())
            return len(readings) > 10 and len(set(readings[-10:])) == 1
        wait_until(are_settled, "as many descriptors for a moment")
        return readings[-1]

    def family(self) -> list[int]:
        """Every living process of its session, itself included."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if int(fields[3]) == self.pid and fields[0] != "Z":
                    found.append(int(entry))
        return found

    def __str__(self):
        return " ".join(self.arguments)


class EndToEnd(unittest.TestCase):
    """A test with its own folder, home and programs. All are removed or ended when it ends."""

    maxDiff = None

    def setUp(self):
        began = time.monotonic()
        self.addCleanup(lambda: print(f"{time.monotonic() - began:.0f} s", end=" ", file=sys.stderr, flush=True))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="framewire-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.home = self.folder / "home"
        self.home.mkdir()
        self.programs: list[Program] = []
        self.addCleanup(self._end_programs)
        self._files = 0

    def _end_programs(self):
        crashed = []
        for program in self.programs:
            program.kill()
            for pid in program.family():
                crashed.append(f"{program} left the process {pid} behind")
                os.kill(pid, signal.SIGKILL)
            if TRACES_OF_A_CRASH.search(program.text):
                crashed.append(f"{program} crashed:\n{program.text}")
        self.assertEqual(crashed, [])

    def run(self, result=None):
        before = len(result.failures) + len(result.errors) if result else 0
        returned = super().run(result)
        if result and len(result.failures) + len(result.errors) > before:
            for program in self.programs:
                print(f"---- {program} ({program.process.returncode})\n{program.text}", file=sys.stderr)
        return returned

    def environment(self, **more) -> dict:
        """Keeps only the variables that programs need to start: no key, no display."""
        kept = {name: value for name, value in os.environ.items()
                if name in ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
                or name.startswith(("LIBGL", "MESA", "GALLIVM", "ASAN", "UBSAN", "TSAN", "LSAN"))}
        return kept | {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config"),
                       "LC_ALL": "C.UTF-8", **more}

    def refusing_port(self) -> int:
        """A TCP port on which nothing listens while this test runs: bound, so that no other test is given it."""
        holder = socket.socket()
        self.addCleanup(holder.close)
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]

    def file(self, name: str) -> pathlib.Path:
        return self.folder / name

    def start(self, *arguments, environment=None, **options) -> Program:
        program = Program(arguments, environment or self.environment(), folder=self.folder, **options)
        self.programs.append(program)
        return program

    def run_to_end(self, *arguments, **options) -> Program:
        program = self.start(*arguments, **options)
        program.wait_end()
        return program

    def _with_stats(self, name: str, arguments) -> tuple[list, pathlib.Path]:
        self._files += 1
        stats = self.file(f"{name}-{self._files}.json")
        return [BIN / f"framewire-{name}", *arguments, "--stats", stats], stats

    def send(self, *arguments, prefix=(), **options) -> Program:
        command, stats = self._with_stats("send", arguments)
        program = self.start(*prefix, *command, **options)
        program.stats_file = stats
        return program

    def send_on(self, *arguments, listen="127.0.0.1:0", **options) -> Program:
        """Starts a sender that listens on a port of its own choice: program.port, program.address."""
        program = self.send(*arguments, "--listen", listen, **options)
        program.port = int(program.wait_line(r"^listening on .*:(\d+)").group(1))
        program.address = f"127.0.0.1:{program.port}"
        return program

    def view(self, *arguments, headless=True, prefix=(), **options) -> Program:
        drawing = ["--headless"] if headless else []
        if headless and "--size" not in arguments:
            drawing += ["--size", "160x90"]
        command, stats = self._with_stats("view", [*arguments, *drawing])
        program = self.start(*prefix, *command, **options)
        program.stats_file = stats
        return program

    def view_until_answered(self, *arguments) -> Program:
        """The viewer of a peer that answers what no sender says. An answer that takes two seconds counts as none, and
        other work on this machine may delay it as long, so one of some tries is enough."""
        for _ in range(5):
            viewer = self.view(*arguments, "--retry", "1s")
            if viewer.wait_end() != LOST:
                break
        return viewer

    def send_to_its_end(self, *arguments, **options) -> Program:
        """Starts a sender that fails at once or at its first viewer: without a viewer it does not read its source."""
        sender = self.send(*arguments, "--listen", "127.0.0.1:0", **options)
        port = sender.wait_line(r"^listening on .*:(\d+)|^framewire-send: ").group(1)
        if port:
            viewer = self.view(f"127.0.0.1:{port}", "--retry", "1s")
            self.assertIn(viewer.wait_end(), (OK, LOST), viewer.text)
        self.ends(sender, FAILED)
        return sender

    def ends(self, program: Program, status: int = OK, seconds: float = WATCHDOG_S):
        self.assertEqual(program.wait_end(seconds), status, f"{program} said:\n{program.text}")

    def read_stats(self, path: pathlib.Path) -> dict:
        """The statistics that a program wrote at its end. docs/statistics.md must name every field."""
        stats = json.loads(path.read_text())
        sessions = stats["sessions"] if isinstance(stats.get("sessions"), list) else []
        parts = [*sessions, *stats.get("streams", [])]
        fields = set(stats).union(*(one for one in parts if isinstance(one, dict)))
        document = STATISTICS_DOCUMENT.read_text(encoding="utf-8")
        self.assertEqual({field for field in fields if f"`{field}`" not in document}, set(), "not documented")
        return stats

    def stats(self, program: Program) -> dict:
        """The statistics of a program, after checking their identities."""
        stats = self.read_stats(program.stats_file)
        if "sessions" in stats and isinstance(stats["sessions"], list):
            for session in stats["sessions"]:
                given = session["frames_sent"] + session["frames_aborted"]
                self.assertEqual(session["frames_produced"], session["frames_skipped"] + given, session)
                self.assertEqual(session["frames_sent"], session["frames_received"] + session["frames_lost"], session)
            self.assertEqual(stats["frames_sent"], sum(session["frames_sent"] for session in stats["sessions"]))
        else:
            self.assertEqual(stats["frames_received"], stats["frames_shown"] + stats["frames_superseded"], stats)
            self.assertIn(stats["frames_torn"], (0, None), stats)
        return stats

    def checked_stats(self, sender: Program, viewer: Program) -> tuple[dict, dict]:
        """The statistics of a sender with one well-ended session and of its viewer, after checking them together."""
        sent, shown = self.stats(sender), self.stats(viewer)
        self.assertEqual(len(sent["sessions"]), 1)
        session = sent["sessions"][0]
        # Ctrl-C gives a viewer one second to say goodbye, for which a busy machine may have stopped it.
        self.assertTrue(session["said_bye"] or session["ending"] == LATE_GOODBYE, session)
        self.assertEqual(sent["frames_received"], shown["frames_received"])
        if session["ending"] == "the stream ended":  # a leaving viewer does not count frames in flight
            self.assertEqual(sent["frames_lost"], shown["frames_lost"])
            self.assertEqual(session["bytes_sent"], shown["bytes_received"])
            # The sender also counts frames before the first one that the viewer gets.
            self.assertGreaterEqual(session["frames_skipped"], shown["frames_skipped"])
        return sent, shown

    def serve_connections(self, talk) -> str:
        """Starts a server on a thread, which calls `talk(connection)` for each connection; returns its address."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def handle(connection):
            with connection:
                try:
                    talk(connection)
                except OSError:
                    pass

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def one_message(self, program: Program, *wanted: str, beside: str = "(?!)"):
        """Checks and returns its error: one line that begins with its name and matches every pattern of `wanted`.

        Lines that match `beside` do not count.
        """
        complaints = [line for line in program.complaints() if not re.search(beside, line)]
        self.assertEqual(len(complaints), 1, f"{program} said:\n{program.text}")
        self.assertNotRegex(program.text, TRACES_OF_A_CRASH)
        for pattern in wanted:
            self.assertRegex(complaints[0], pattern)
        self.assertLess(len(complaints[0]), 600, complaints[0])
        return complaints[0]


def main():
    unittest.main(verbosity=2)
