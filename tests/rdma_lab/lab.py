"""What the tests on RDMA machines stand on, beyond the end-to-end tests' harness: addresses, faults, and what the device still holds."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402  (it lies beside the end-to-end tests)

ROLE = int(os.environ.get("FRAMEWIRE_LAB_ROLE", "1"))
ADDRESS = os.environ.get("FRAMEWIRE_LAB_ADDRESS", "")
PEER = os.environ.get("FRAMEWIRE_LAB_PEER", ADDRESS)
ADDRESS6 = os.environ.get("FRAMEWIRE_LAB_ADDRESS6", "")
IS_LAB = "FRAMEWIRE_LAB_HOSTS" in os.environ  # else this is somebody's machine, with a device of its own
if IS_LAB:
    # Every program of a test has a home of its own, and would compile every shader anew: seconds each on an emulated processor.
    os.environ.setdefault("MESA_SHADER_CACHE_DIR", "/tmp/mesa-shader-cache")
    os.environ.setdefault("GALLIVM_PERF", "nopt")  # an emulated processor takes longer to optimise shaders than to run them
SHARED = pathlib.Path(os.environ.get("FRAMEWIRE_LAB_SHARED", "/nowhere"))


def is_ours(entry: dict) -> bool:
    """Whether an object of the device belongs to a program of framewire, or to one that is gone; not to the kernel, nor to somebody else who
    works with the same device."""
    if "pid" not in entry:
        return False
    try:
        status = pathlib.Path(f"/proc/{entry['pid']}/status").read_text()  # of the thread that made it
        process = re.search(r"Tgid:\s+(\d+)", status).group(1)
        program = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    # One that ends has no words any more; those of a hop are its rdpipe's.
    return not program or pathlib.Path(os.fsdecode(program)).name.startswith(("framewire", "rdsend", "rdrecv", "rdpipe"))


def held_objects() -> dict:
    """How many of each kind of verbs object the devices hold for framewire."""
    def count(kind: str) -> int:
        said = subprocess.run(["rdma", "-j", "resource", "show", kind], capture_output=True, text=True, check=True).stdout
        return sum(map(is_ours, json.loads(said or "[]")))
    return {kind: count(kind) for kind in ("pd", "cq", "qp", "cm_id", "mr")}


def nobody() -> tuple:
    """The prefix of a command that another user runs; without root, or where he may not run these programs, the test is skipped."""
    prefix: tuple = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    if os.geteuid() != 0:
        raise unittest.SkipTest("it needs another user, which takes root")
    if subprocess.run([*prefix, "test", "-x", harness.BIN / "framewire-view"], check=False).returncode != 0:
        if IS_LAB:
            raise AssertionError(f"another user may not run what is built here: {harness.BIN} is not open to all")
        raise unittest.SkipTest("it needs another user, who may not run what is built here")
    if IS_LAB:
        prefix += ("env", f"MESA_SHADER_CACHE_DIR={os.environ['MESA_SHADER_CACHE_DIR']}-nobody")  # a cache belongs to one user
    return prefix


class RdmaTest(harness.EndToEnd):
    """Verifies after each test that no verbs object has been left behind."""

    def setUp(self):
        super().setUp()
        self.held_before = held_objects()
        self.addCleanup(self.check_nothing_is_held)  # runs before the programs are ended, so these must have ended

    def other_user(self) -> tuple:
        """The prefix of a command that somebody else on this machine runs, who finds the test's folders open; local is not for him."""
        for folder in (self.folder, self.home):
            folder.chmod(0o777)
        return nobody()

    def limited(self, memlock_bytes: int) -> tuple:
        """The same with so much memory to lock; root may lock what it likes."""
        return (*self.other_user(), "prlimit", f"--memlock={memlock_bytes}")

    def check_nothing_is_held(self):
        for program in self.programs:
            program.kill()
        harness.wait_until(lambda: held_objects() == self.held_before, f"{held_objects()} to go back to {self.held_before}")


def link(*arguments: str):
    """A fault of the network; see lab-link --help in the lab."""
    subprocess.run(["lab-link", *arguments], check=True)


def make_device_anew():
    """What meets a port that is down, a goodbye or a word to connect, leaves Soft-RoCE deaf to whoever wants to connect. Nobody may have it open."""
    subprocess.run(["rdma", "link", "delete", "rxe0"], check=True)
    subprocess.run(["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", os.environ["FRAMEWIRE_LAB_DEVICE"]], check=True)
    harness.wait_until(lambda: port_state() == "ACTIVE", "the port to come up")


def port_state() -> str:
    said = subprocess.run(["rdma", "link", "show"], capture_output=True, text=True, check=True).stdout
    return re.search(r"state (\w+)", said).group(1)


def counters() -> dict:
    said = subprocess.run(["lab-link", "counters"], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in (line.split() for line in said.splitlines())}


def meet(play: str, moment: str, seconds: float = 120):
    """Both machines of a lab of two, which run the same test, go on from here together."""
    (SHARED / f"{play}.{moment}.{ROLE}").touch()
    deadline = time.monotonic() + seconds
    while not (SHARED / f"{play}.{moment}.{3 - ROLE}").exists():
        if (SHARED / f"{play}.failed.{3 - ROLE}").exists():
            raise AssertionError("the other machine's half of this test has failed")
        if time.monotonic() > deadline:
            raise AssertionError(f"the other machine did not come to '{moment}' within {seconds:.0f} s")
        time.sleep(0.05)


class Play(RdmaTest):
    """Each test is a play of two machines, which run the same file: play() runs the part that is this one's."""

    def setUp(self):
        super().setUp()
        self.meetings = 0
        self.key = SHARED / "key"
        if ROLE == 1 and not self.key.exists():
            made = self.file("key")
            self.ends(self.start(harness.BIN / "framewire", "key", "--file", made))
            shutil.copy(made, self.key)
        self.meet("begins")
        mine = self.file("key-here")  # on a file system that knows modes
        mine.write_bytes(self.key.read_bytes())
        mine.chmod(0o600)
        self.key = mine

    def meet(self, name: str, seconds: float = 120):
        self.meetings += 1  # a name may come again
        meet(self._testMethodName, f"{self.meetings} {name}", seconds)

    def report_error(self, text: str):
        """The other machine's hear() returns it."""
        self.word().write_text(text)
        self.meet("is told")

    def hear(self) -> str:
        word = self.word()
        self.meet("is told")
        return word.read_text()

    def word(self) -> pathlib.Path:
        return SHARED / f"{self._testMethodName}.{self.meetings}.word"

    def play(self, sender, viewer):
        try:
            (sender if ROLE == 1 else viewer)()
        except BaseException:
            (SHARED / f"{self._testMethodName}.failed.{ROLE}").touch()
            raise
