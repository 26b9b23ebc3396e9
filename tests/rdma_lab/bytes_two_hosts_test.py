"""rdsend, rdrecv and rdpipe between two machines with RDMA: 1 sends and runs rdpipe, 2 receives and has an sshd.

Every fault is proven by a counter or a state before it counts. In the lab only: scripts/rdma-lab --hosts 2.
"""
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import types
import uuid

import lab
from lab import harness

from byte_programs import SMALL, BytePrograms
from pipelines import OWN_FAILURE, PipelineTest

PORT = 5291
# The transfer of two megabytes takes twenty seconds, so that the test can break it off in the middle. Few chunks are in
# flight: Soft-RoCE repeats them to a device that is down. They fill that device's queue, then the emulated cable, and
# finally block the sender's kernel, which waits for its packets to leave.
SLOWLY = ("--limit", "100k", "--slot-bytes", "4k", "--slots", "4")
IN_THE_MIDDLE = "after [0-9.]+ [kM]?B"
STALL_S = 6.5
SILENT_S = 20 * harness.TIMEOUT_SCALE  # rdpipe's own limits of 10 to 14 s detect a silent host


def digest(path: pathlib.Path, size: int = -1) -> str:
    with path.open("rb") as file:
        return hashlib.sha256(file.read(size)).hexdigest()


class Faults(lab.Play):
    def break_network(self, fault: str, machine: int):
        """Breaks the network of one machine until the end of the test."""
        if machine != lab.ROLE:
            return
        self.lost_before = self.lost_packets()
        lab.link(*fault.split())
        if fault == "cut":
            self.assertNotEqual(lab.port_state(), "ACTIVE")
        elif fault == "drop":
            harness.wait_until(lambda: self.lost_packets() > self.lost_before, "a packet to be lost")

    @staticmethod
    def lost_packets() -> int:
        return lab.counters().get("qdisc_dropped", 0)


class Bytes(BytePrograms, Faults):
    def setUp(self):
        super().setUp()
        self.common = ("--key", self.key, "--timeout", "3s")
        self.copy = self.file("copy")

    def start_receiver(self, *arguments, **options) -> harness.Program:
        receiver = self.receiver(*arguments, listen=f"*:{PORT}", **options)
        self.meet("listens")
        return receiver

    def start_sender(self, *arguments, **options) -> harness.Program:
        self.meet("listens")
        return self.sender(f"{lab.PEER}:{PORT}", *arguments, **options)

    def receiver_with_some(self) -> harness.Program:
        receiver = self.start_receiver(self.copy)
        harness.wait_until(lambda: self.copy.exists() and self.copy.stat().st_size > 0, "the first bytes")
        receiver.wait_line("transport=rdma")
        self.meet("some are there")
        return receiver

    def sender_of_some(self, size: int = 2_000_000, options: tuple = SLOWLY) -> tuple[harness.Program, pathlib.Path]:
        original = self.data(size)
        sender = self.start_sender(original, *options)
        self.meet("some are there")
        return sender, original

    def tell_copy(self):
        self.report_error(f"{self.copy.stat().st_size} {digest(self.copy)}")

    def hear_copy(self, original: pathlib.Path) -> int:
        """Returns the size of the copy on the other machine after checking that it is a prefix of the original."""
        size, told = self.hear().split()
        self.assertEqual(told, digest(original, int(size)))
        return int(size)

    def check_whole(self, original: pathlib.Path):
        self.assertEqual(self.hear_copy(original), original.stat().st_size)

    def check_cut_off(self, original: pathlib.Path):
        self.assertIn(self.hear_copy(original), range(1, original.stat().st_size))

    def loses(self, program: harness.Program, *whom_and_more: str):
        self.ends(program, harness.LOST)
        self.one_message(program, *whom_and_more)

    # ---- complete transfers

    def test_auto_takes_rdma_with_either_end_listening(self):
        def sender():
            original = self.data(16_000_001)
            for sender in (lambda: self.start_sender(original), lambda: self.listening_sender(original)):
                program = sender()
                self.ends(program)
                program.wait_line("transport=rdma memory=host auth=psk control=tls1.3")
                self.check_whole(original)

        def receiver():
            for receiver in (lambda: self.start_receiver(self.copy), self.dialling_receiver):
                program = receiver()
                self.ends(program)
                program.wait_line(r"transport=rdma memory=host auth=psk control=tls1.3 .*\(auto: rdma; local needs")
                self.assertEqual(self.said("received.json")["transport"], "rdma")
                self.tell_copy()
                self.copy.unlink()

        self.play(sender, receiver)

    def listening_sender(self, original) -> harness.Program:
        sender = self.sender("-v", "--listen", f"*:{PORT}", original)
        sender.wait_line("^listening on ")
        self.meet("the sender listens")
        return sender

    def dialling_receiver(self) -> harness.Program:
        self.meet("the sender listens")
        return self.start(harness.BIN / "rdrecv", "-v", "--from", f"{lab.PEER}:{PORT}", *self.common, self.copy,
                          "--stats", self.file("received.json"))

    def check_that_loss_does_not_matter(self, at: int, share: str):
        """The second half is sent once packets are being lost, so that the transfer cannot end before."""
        self.common = ("--key", self.key, "--timeout", "10s")
        half = 3_000_000

        def lose():
            self.break_network(f"lossy {share}", at)
            self.meet("packets are being lost")

        def count():
            self.meet("all is through")
            if at == lab.ROLE:
                self.assertGreater(self.lost_packets(), self.lost_before)

        def sender():
            original = self.data(2 * half)
            # Many chunks, so many answers.
            sender = self.start_sender("--slot-bytes", "4k", stdin=subprocess.PIPE)
            with original.open("rb") as file, sender.process.stdin as stdin:
                stdin.write(file.read(half))
                self.meet("some are there")
                lose()
                stdin.write(file.read(half))
            self.ends(sender, seconds=4 * harness.WATCHDOG_S)
            count()
            self.check_whole(original)

        def receiver():
            receiver = self.receiver_with_some()
            lose()
            self.ends(receiver, seconds=4 * harness.WATCHDOG_S)
            count()
            self.tell_copy()

        self.play(sender, receiver)

    def test_one_packet_of_a_hundred_is_lost_on_its_way_there(self):
        self.check_that_loss_does_not_matter(at=1, share="1%")

    def test_one_packet_of_twenty_is_lost_on_its_way_back(self):
        """Fewer go there."""
        self.check_that_loss_does_not_matter(at=2, share="5%")

    def test_who_stands_still_is_slow_and_not_dead(self):
        """The pause is longer than every limit that follows from a timeout of one second."""
        self.common = ("--key", self.key, "--timeout", "1s")

        def look_at(program: harness.Program):
            self.meet("stands still")
            with self.assertRaises(AssertionError):
                program.wait_line("lost the", STALL_S)
            self.assertTrue(program.is_running(), program.text)
            self.meet("has stood still")

        def stop(program: harness.Program):
            program.pause()
            self.meet("stands still")
            self.meet("has stood still")
            program.go_on()

        def sender():
            sender, original = self.sender_of_some(3_000_003, ("--limit", "1M", *SMALL))
            look_at(sender)
            stop(sender)
            self.ends(sender)
            self.check_whole(original)

        def receiver():
            receiver = self.receiver_with_some()
            stop(receiver)
            look_at(receiver)
            self.ends(receiver)
            self.tell_copy()

        self.play(sender, receiver)

    # ---- interrupted transfers

    def test_the_sender_is_killed(self):
        def sender():
            sender, original = self.sender_of_some()
            self.assertEqual(sender.kill(), -signal.SIGKILL)
            self.check_cut_off(original)

        def receiver():
            self.loses(self.receiver_with_some(), f"lost the sender {IN_THE_MIDDLE}", "not complete")
            self.tell_copy()

        self.play(sender, receiver)

    def test_the_receiver_is_killed(self):
        def sender():
            sender, original = self.sender_of_some()
            self.loses(sender, f"lost the receiver {IN_THE_MIDDLE}")
            self.check_cut_off(original)

        def receiver():
            self.assertEqual(self.receiver_with_some().kill(), -signal.SIGKILL)
            self.tell_copy()

        self.play(sender, receiver)

    def check_broken_network(self, fault: str, machine: int):
        def sender():
            sender, original = self.sender_of_some()
            self.break_network(fault, machine)
            self.loses(sender, f"lost the receiver {IN_THE_MIDDLE}")
            self.check_cut_off(original)

        def receiver():
            receiver = self.receiver_with_some()
            self.break_network(fault, machine)
            self.loses(receiver, f"lost the sender {IN_THE_MIDDLE}", "not complete")
            self.tell_copy()

        self.play(sender, receiver)

    def test_the_senders_cable_is_cut(self):
        self.check_broken_network("cut", 1)

    def test_the_receivers_cable_is_cut(self):
        self.check_broken_network("cut", 2)

    def test_the_sender_is_heard_no_more(self):
        self.check_broken_network("drop", 1)

    def test_the_receiver_is_heard_no_more(self):
        self.check_broken_network("drop", 2)

    def check_failing_receiver(self, source, start_receiver, of_receiver: str, of_sender: tuple, check_fault):
        def sender():
            sender = self.start_sender(source(), *SMALL)
            self.ends(sender, harness.FAILED)
            self.one_message(sender, *of_sender)

        def receiver():
            receiver = start_receiver()
            self.ends(receiver, harness.FAILED)
            self.one_message(receiver, of_receiver)
            check_fault()

        self.play(sender, receiver)

    def test_a_disk_that_becomes_full(self):
        disk = self.file("disk")
        disk.mkdir()
        room = 4 << 20

        def mounted() -> harness.Program:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "none", disk], check=True)
            self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
            return self.start_receiver(disk / "copy")

        self.check_failing_receiver(lambda: self.data(room + 1), mounted, "No space left on device",
                                    (f"the receiver failed {IN_THE_MIDDLE}", "No space left on device"),
                                    lambda: self.assertEqual(os.statvfs(disk).f_bavail, 0))

    def test_a_reader_that_goes(self):
        def before_head() -> harness.Program:
            self.head = subprocess.Popen(["head", "-c", "10"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            receiver = self.start_receiver(stdout=self.head.stdin)
            self.head.stdin.close()
            return receiver

        self.check_failing_receiver(lambda: "/dev/zero", before_head, "the reader of standard output has gone",
                                    ("the receiver ended after", "has gone"),
                                    lambda: self.assertEqual(self.head.wait(harness.WATCHDOG_S), 0))


class StagesOnABox(PipelineTest, Faults):
    """Machine 1 runs rdpipe with stages on machine 2, whose name is box. Each machine checks itself for leftovers."""
    sshd_address = lab.ADDRESS
    hosts = ("box",)

    @classmethod
    def setUpClass(cls):
        way_in, folder_there = lab.SHARED / f"sshd-{cls.__name__}", lab.SHARED / f"sshd-{cls.__name__}.folder"
        if lab.ROLE == 2:
            super().setUpClass()
            shutil.copytree(cls.sshd.folder, way_in)
            folder_there.write_text(str(cls.sshd.folder))
        lab.meet(cls.__name__, "sshd runs")
        if lab.ROLE == 1:
            # The same path as on the other machine: the configuration names it.
            folder = pathlib.Path(folder_there.read_text())
            shutil.copytree(way_in, folder)
            cls.addClassCleanup(shutil.rmtree, folder.parent)
            (folder / "user_key").chmod(0o600)  # the shared folder may not support file modes
            cls.sshd = types.SimpleNamespace(client_config=folder / "ssh_config")
            cls.mark = f"FRAMEWIRE_TEST_MARK={uuid.uuid4().hex}"

    def check_that_auto_takes_rdma_there_and_back(self):
        def home():
            data = os.urandom(20_000_001)
            self.assertTrue(self.run_pipe("-v", "box:cat", given=data) == data)
            for hop in ("here → box", "box → here"):
                self.says(rf"^{hop}: transport=rdma .*\(auto: rdma; ", rf"^{hop}: Bandwidth .* over rdma")
            self.meet("has ended")

        def box():
            self.meet("has ended")
            self.nothing_is_left(SILENT_S)

        self.play(home, box)


class PipeByAnotherNetworkThanThatOfSsh(StagesOnABox):
    """ssh uses a tunnel without RDMA, like a management network. The bytes use the network that has RDMA."""
    sshd_address = f"10.88.0.{lab.ROLE}"

    @classmethod
    def setUpClass(cls):
        for command in (f"link add admin0 type vxlan id 7 dstport 4788 remote {lab.PEER}",
                        f"address add {cls.sshd_address}/24 dev admin0", "link set admin0 up mtu 1400"):
            subprocess.run(["ip", *command.split()], check=True)
        cls.addClassCleanup(subprocess.run, ["ip", "link", "delete", "admin0"], check=True)
        super().setUpClass()

    def test_auto_takes_rdma_there_and_back(self):
        self.check_that_auto_takes_rdma_there_and_back()


class Pipe(StagesOnABox):
    def test_auto_takes_rdma_there_and_back(self):
        self.check_that_auto_takes_rdma_there_and_back()

    def test_files_there_by_way_of_here(self):
        def home():
            original, copy = self.hear().splitlines()
            self.run_pipe("-v", f"box:<{original}", ":cat", f"box:>{copy}")
            self.says("^box → .*: Bandwidth .* over rdma", "^.* → box: Bandwidth .* over rdma")
            self.assertNotRegex(self.program.text, " over (tcp|local)")
            self.meet("has ended")

        def box():
            original, copy = self.file("original"), self.file("copy")
            original.write_bytes(os.urandom(20_000_001))
            self.report_error(f"{original}\n{copy}")
            self.meet("has ended")
            self.assertTrue(copy.read_bytes() == original.read_bytes())
            self.nothing_is_left(SILENT_S)

        self.play(home, box)

    def check_cut(self, machine: int):
        def home():
            copy = self.file("copy")
            with open("/dev/zero", "rb") as zeros, copy.open("wb") as output:
                self.program = self.rdpipe("-v", *SLOWLY, "box:cat", stdin=zeros, stdout=output)
            harness.wait_until(lambda: copy.stat().st_size > 0, "the first bytes")
            for hop in ("here → box", "box → here"):
                self.program.wait_line(f"^{hop}: transport=rdma")
            self.meet("bytes flow")
            self.break_network("cut", machine)
            began = time.monotonic()
            self.ends(self.program, OWN_FAILURE, SILENT_S)
            print(f"ended after {time.monotonic() - began:.1f} s", file=sys.stderr)
            self.nothing_is_left()
            self.meet("nothing is left")
            self.rdpipe_says("^rdpipe: .*box")

        def box():
            self.pid_of("^cat")
            self.meet("bytes flow")
            self.break_network("cut", machine)
            self.nothing_is_left(SILENT_S)
            self.meet("nothing is left")

        self.play(home, box)

    def test_the_cable_of_home_is_cut(self):
        self.check_cut(1)

    def test_the_cable_of_the_box_is_cut(self):
        self.check_cut(2)


if __name__ == "__main__":
    harness.main()
