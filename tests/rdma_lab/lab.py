"""Helpers for tests on RDMA machines, beyond the end-to-end harness: addresses, network faults, and objects that the
device still holds."""
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
import harness  # noqa: E402  (it is in the folder of the end-to-end tests)

ROLE = int(os.environ.get("FRAMEWIRE_LAB_ROLE", "1"))
ADDRESS = os.environ.get("FRAMEWIRE_LAB_ADDRESS", "")
PEER = os.environ.get("FRAMEWIRE_LAB_PEER", ADDRESS)
ADDRESS6 = os.environ.get("FRAMEWIRE_LAB_ADDRESS6", "")
IS_LAB = "FRAMEWIRE_LAB_HOSTS" in os.environ  # otherwise this is a user's machine with its own RDMA device
if IS_LAB:
    # Each program of a test has its own home folder and would compile every shader again: seconds each on an emulated
    # CPU.
    os.environ.setdefault("MESA_SHADER_CACHE_DIR", "/tmp/mesa-shader-cache")
    os.environ.setdefault("GALLIVM_PERF", "nopt")  # an emulated CPU takes longer to optimise shaders than to run them
SHARED = pathlib.Path(os.environ.get("FRAMEWIRE_LAB_SHARED", "/nowhere"))


def is_ours(entry: dict) -> bool:
    """Whether a verbs object belongs to a framewire program, or to one that has ended. False for objects of the kernel
    and of other users of the device."""
    if "pid" not in entry:
        return False
    try:
        status = pathlib.Path(f"/proc/{entry['pid']}/status").read_text()  # of the thread that created it
        process = re.search(r"Tgid:\s+(\d+)", status).group(1)
        program = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    # An exiting process has an empty command line. Objects of a hop belong to its rdpipe process.
    name = pathlib.Path(os.fsdecode(program)).name
    return not program or name.startswith(("framewire", "rdsend", "rdrecv", "rdpipe"))


# In the listing of each kind of verbs object: the number that its entries have. An entry may name objects of the kinds
# behind its own, too: a cm_id its qp, an mr its pd.
NUMBER_OF = {"cm_id": "cm-idn", "qp": "lqpn", "cq": "cqn", "mr": "mrn", "pd": "pdn"}


def held_objects(*kinds: str) -> dict:
    """The numbers of verbs objects of these kinds (without any: of all) that the devices hold for framewire. One
    process lists them all: on an emulated processor its start takes longer than what it does."""
    kinds = kinds or tuple(NUMBER_OF)
    said = subprocess.run(["rdma", "-j", "-b", "-"], input="".join(f"resource show {kind}\n" for kind in kinds),
                          capture_output=True, text=True, check=True).stdout
    held_of = dict.fromkeys(kinds, 0)
    for line in said.splitlines():
        for entry in filter(is_ours, json.loads(line or "[]")):
            held_of[next(kind for kind, number in NUMBER_OF.items() if number in entry)] += 1
    return held_of


def held(kind: str) -> int:
    """The number of verbs objects of this kind that the devices hold for framewire: pd, cq, qp, cm_id or mr."""
    return held_objects(kind)[kind]


def wait_until_held(wanted: dict):
    """Waits until the devices hold these numbers of verbs objects."""
    seen: dict = {}

    def is_so() -> bool:
        seen.update(held_objects(*wanted))
        return seen == wanted

    try:
        harness.wait_until(is_so, f"the devices to hold {wanted}")
    except AssertionError as error:
        raise AssertionError(f"{error}; they hold {seen}") from None


def nobody() -> tuple:
    """The prefix that runs a command as another user. Skips the test without root, or if that user may not run the
    programs."""
    prefix: tuple = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    if os.geteuid() != 0:
        raise unittest.SkipTest("it needs another user, which takes root")
    if subprocess.run([*prefix, "test", "-x", harness.BIN / "framewire-view"], check=False).returncode != 0:
        if IS_LAB:
            raise AssertionError(f"another user may not run what is built here: {harness.BIN} is not open to all")
        raise unittest.SkipTest("it needs another user, who may not run what is built here")
    if IS_LAB:
        # The cache belongs to one user. The other one begins with what this one has compiled so far.
        ours = pathlib.Path(os.environ["MESA_SHADER_CACHE_DIR"])
        theirs = ours.with_name(f"{ours.name}-nobody")
        if ours.exists() and not theirs.exists():
            subprocess.run(["cp", "-r", ours, theirs], check=False)  # a running program may take its own files away
            subprocess.run(["chown", "-R", "65534", theirs], check=True)
        prefix += ("env", f"MESA_SHADER_CACHE_DIR={theirs}")
    return prefix


class RdmaTest(harness.EndToEnd):
    """Checks after each test that no verbs object is left."""

    def setUp(self):
        super().setUp()
        self.held_before = held_objects()
        # Runs before the programs are killed, so the test must have ended them.
        self.addCleanup(self.check_nothing_is_held)

    def other_user(self) -> tuple:
        """The prefix that runs a command as another user, and opens the test's folders to that user. The local link
        does not work across users."""
        for folder in (self.folder, self.home):
            folder.chmod(0o777)
        return nobody()

    def limited(self, memlock_bytes: int) -> tuple:
        """The same with a limit on locked memory. Root is exempt from that limit."""
        return (*self.other_user(), "prlimit", f"--memlock={memlock_bytes}")

    def check_nothing_is_held(self):
        for program in self.programs:
            program.kill()
        wait_until_held(self.held_before)


# What ends each fault of lab-link, and those that this machine has now.
MENDED_BY = {"cut": "restore", "lossy": "lossless", "slow": "pass", "drop": "pass", "large": "pass"}
_faults: set[str] = set()


def link(*arguments: str):
    """Injects a network fault, or ends it; see lab-link --help in the lab. A Play ends those that a test leaves."""
    subprocess.run(["lab-link", *arguments], check=True)
    word = arguments[0]
    if word in MENDED_BY:
        _faults.add(word)
    _faults.difference_update([fault for fault in _faults if MENDED_BY[fault] == word])


def make_device_anew():
    """Recreates the Soft-RoCE device. A goodbye or a connect request that meets a port that is down makes Soft-RoCE
    ignore all later connect requests. No program may have the device open."""
    subprocess.run(["rdma", "link", "delete", "rxe0"], check=True)
    subprocess.run(["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", os.environ["FRAMEWIRE_LAB_DEVICE"]],
                   check=True)
    harness.wait_until(lambda: port_state() == "ACTIVE", "the port to come up")


def port_state() -> str:
    said = subprocess.run(["rdma", "link", "show"], capture_output=True, text=True, check=True).stdout
    return re.search(r"state (\w+)", said).group(1)


def counters() -> dict:
    said = subprocess.run(["lab-link", "counters"], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in (line.split() for line in said.splitlines())}


def meet(play: str, moment: str, seconds: float = 120):
    """Waits until both machines of the lab, which run the same test, reach this point."""
    (SHARED / f"{play}.{moment}.{ROLE}").touch()
    deadline = time.monotonic() + seconds
    while not (SHARED / f"{play}.{moment}.{3 - ROLE}").exists():
        if (SHARED / f"{play}.failed.{3 - ROLE}").exists():
            raise AssertionError("the other machine's half of this test has failed")
        if time.monotonic() > deadline:
            raise AssertionError(f"the other machine did not come to '{moment}' within {seconds:.0f} s")
        time.sleep(0.05)


class Play(RdmaTest):
    """A test on two machines that run the same file. play() runs this machine's part."""

    def setUp(self):
        super().setUp()
        self.meetings = 0
        # With the class: where two classes have a test of one name, the second would find the first one's meetings.
        self.play_name = f"{type(self).__name__}.{self._testMethodName}"
        self.addCleanup(self.mend_network)  # else the tests after one that failed would fail, too, after long waits
        self.key = SHARED / "key"
        if ROLE == 1 and not self.key.exists():
            made = self.file("key")
            self.ends(self.start(harness.BIN / "framewire", "key", "--file", made))
            shutil.copy(made, self.key)
        self.meet("begins")
        mine = self.file("key-here")  # on a file system that supports modes
        mine.write_bytes(self.key.read_bytes())
        mine.chmod(0o600)
        self.key = mine

    def mend_network(self):
        """Ends the faults that the test has left."""
        was_cut = "cut" in _faults
        for word in {MENDED_BY[fault] for fault in _faults}:
            link(word)
        if was_cut:
            for program in self.programs:
                program.kill()  # the device cannot be deleted while a program has it open
            make_device_anew()

    def drop_rdma(self):
        """A firewall of this machine that lets no RDMA in, until the test ends or let_rdma_pass() is called."""
        self.addCleanup(self.let_rdma_pass, check=False)
        subprocess.run(["nft", "add table inet lab; add chain inet lab in { type filter hook input priority 0; }; "
                        "add rule inet lab in udp dport 4791 counter drop"], check=True)

    @staticmethod
    def let_rdma_pass(check: bool = True):
        subprocess.run(["nft", "delete table inet lab"], check=check, stderr=None if check else subprocess.DEVNULL)

    def meet(self, name: str, seconds: float = 120):
        self.meetings += 1  # names may repeat
        meet(self.play_name, f"{self.meetings} {name}", seconds)

    def report_error(self, text: str):
        """Sends `text` to the other machine, where hear() returns it."""
        self.word().write_text(text)
        self.meet("is told")

    def hear(self) -> str:
        word = self.word()
        self.meet("is told")
        return word.read_text()

    def word(self) -> pathlib.Path:
        return SHARED / f"{self.play_name}.{self.meetings}.word"

    def play(self, sender, viewer):
        try:
            (sender if ROLE == 1 else viewer)()
        except BaseException:
            (SHARED / f"{self.play_name}.failed.{ROLE}").touch()
            raise
