"""libframewire.so.0, as other programs use it, over RDMA: it loads the verbs by itself. Its programs fork and are
killed while they hold slots and frames."""
import os
import pathlib
import re
import signal
import subprocess
import sys

import lab
from c_interface import FW_OK, FW_STATE_LOST, CInterface, picture_of
from lab import harness

PROGRAM = pathlib.Path(__file__).with_name("holding_program.py")
# Each end waits a minute for a silent one, so that a program that was killed is missed because the kernel closes its
# sockets, or not in time. On a machine that is not emulated that is to take less than a second.
SOON_S = 10 if lab.IS_LAB else 1


def loaded_libraries() -> set[str]:
    maps = pathlib.Path("/proc/self/maps").read_text()
    return set(re.findall(r"lib(?:ibverbs|rdmacm)\b", maps))


class HoldingProgram:
    """A running holding_program.py, and its child once it has forked."""

    def __init__(self, test: lab.RdmaTest, *arguments: str):
        self.process = subprocess.Popen([sys.executable, PROGRAM, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.child = 0
        test.addCleanup(self.end)

    def says(self, pattern: str) -> re.Match:
        """Its next line."""
        line = self.process.stdout.readline().rstrip("\n")
        found = re.fullmatch(pattern, line)
        if not found:
            raise AssertionError(f"it said '{line}' in place of '{pattern}'")
        return found

    def forks(self):
        said = sorted(self.process.stdout.readline().rstrip("\n") for _ in range(2))  # of two processes
        if said[0] != "child is right" or not said[1].startswith("forked "):
            raise AssertionError(f"it said {said}")
        self.child = int(said[1].split()[1])

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ends(self):
        """Its child lives on."""
        self.step()
        if self.process.wait(harness.WATCHDOG_S) != 0:
            raise AssertionError(f"it ended with {self.process.returncode}")
        os.kill(self.child, 0)

    def kill(self):
        self.process.kill()
        self.process.wait()
        os.kill(self.child, 0)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            self.child = 0


class CInterfaceTest(lab.RdmaTest):
    def setUp(self):
        super().setUp()
        self.interface = CInterface()

    def open_sender(self):
        sender, stream, port = self.interface.sender(lab.ADDRESS, timeout="60s")
        self.addCleanup(self.interface.library.fw_sender_destroy, sender)
        return stream, f"{lab.ADDRESS}:{port}"

    def open_receiver(self, source: str):
        receiver = self.interface.receiver(source, timeout="60s")
        self.addCleanup(self.interface.library.fw_receiver_destroy, receiver)
        return receiver

    def check_frame(self, receiver, value: int):
        frame = self.interface.acquire(receiver)
        self.assertEqual(self.interface.bytes_of(frame), picture_of(value))
        self.interface.library.fw_frame_unref(frame)


class BeforeAllOthers(CInterfaceTest):
    """The others have loaded the verbs: classes run in the order of their names."""

    def test_frames_arrive_and_verbs_are_loaded_when_they_are_needed(self):
        self.assertEqual(loaded_libraries(), set())
        stream, address = self.open_sender()
        receiver = self.open_receiver(address)
        for value in range(20):
            self.interface.send(stream, value)
            self.check_frame(receiver, value)
        self.assertEqual(loaded_libraries(), {"libibverbs", "librdmacm"})


class ProgramsThatHold(CInterfaceTest):
    def fill(self, stream, holding: HoldingProgram) -> int:
        """Sends frames until the program holds all that it may. How many."""
        held = 3  # the default of option slots
        for value in range(held):
            self.interface.send(stream, value)
        self.assertEqual(holding.says("holds ([0-9]+) all").group(1), str(held))
        return held

    def receive_from(self, holding: HoldingProgram):
        return self.open_receiver(f"{lab.ADDRESS}:{holding.says('port ([0-9]+)').group(1)}")

    def test_a_receiver_forks(self):
        stream, address = self.open_sender()
        holding = HoldingProgram(self, "receive", address)
        held = self.fill(stream, holding)
        holding.forks()
        holding.step()
        for value in range(held, held + 20):
            self.interface.send(stream, value)
        holding.says("went on")
        holding.ends()

    def test_a_sender_forks(self):
        holding = HoldingProgram(self, "send", lab.ADDRESS)
        receiver = self.receive_from(holding)
        self.check_frame(receiver, 0)
        holding.forks()
        holding.step()
        for value in range(1, 20):
            self.check_frame(receiver, value)
        holding.says("went on")
        holding.ends()

    def test_slots_of_a_killed_receiver_come_back_although_its_child_lives(self):
        stream, address = self.open_sender()
        holding = HoldingProgram(self, "receive", address)
        held = self.fill(stream, holding)
        holding.forks()
        for value in (held, held + 1):  # for these it has no room, so that they wait in their slots
            self.interface.send(stream, value)
        # Those of the frames that it holds are free once the sender has seen that they are written.
        harness.wait_until(lambda: self.interface.counts(stream).slots_in_use == 2, "the slots that wait, and no other")
        holding.kill()

        def are_back() -> bool:
            counts = self.interface.counts(stream)
            return counts.viewers == 0 and counts.slots_in_use == 0
        harness.wait_until(are_back, "the slots to come back", SOON_S)
        receiver = self.open_receiver(address)  # the next one gets frames by the same device
        for value in range(10):
            self.interface.send(stream, value)
            self.check_frame(receiver, value)

    def test_frames_of_a_killed_sender_stay_and_its_session_ends_although_its_child_lives(self):
        holding = HoldingProgram(self, "send", lab.ADDRESS)
        receiver = self.receive_from(holding)
        frame = self.interface.acquire(receiver)
        holding.forks()
        holding.kill()
        harness.wait_until(lambda: self.interface.state(receiver) == FW_STATE_LOST, "the session to be lost", SOON_S)
        self.assertEqual(self.interface.call("fw_frame_check", frame), FW_OK)
        self.assertEqual(self.interface.bytes_of(frame), picture_of(0))
        self.interface.library.fw_frame_unref(frame)


if __name__ == "__main__":
    harness.main()
