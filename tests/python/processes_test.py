"""Processes: stamped frames of another one are whole, forks, and what comes back of one that is killed."""
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

import framewire

from stamps import is_whole
from streams import BIN, DEADLINE_S, Streams

FRAMES = 2000
HOLDS_SLOTS = """
import os, signal, sys, time
import framewire
receiver = framewire.receive(sys.argv[1], delivery="every")
frames = [receiver.acquire(timeout=30) for _ in range(2)]
arrays = [frame.numpy() for frame in frames]
if sys.argv[2] == "fork" and os.fork() == 0:
    signal.pause()
print("holds", flush=True)
time.sleep(60)
"""


class Stamped(Streams):
    def test_no_frame_is_torn_and_the_counts_add_up(self):
        sender = subprocess.Popen([BIN / "framewire-send", "pattern:stamped", "--size", "320x180", "--pix-fmt", "rgba",
                                   "--fps", "1000", "--frames", str(FRAMES),
                                   "--delivery", "every", "--listen", "127.0.0.1:0"],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(sender.stderr.close)
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        line = next(line for line in sender.stderr if line.startswith("listening on"))
        port = int(re.search(r":(\d+)", line).group(1))
        drain = threading.Thread(target=lambda: list(sender.stderr), daemon=True)
        drain.start()
        whole = torn = 0
        with framewire.receive(f"127.0.0.1:{port}", delivery="every") as receiver:
            for frame in receiver:
                with frame:
                    self.assertEqual(frame.sequence, whole + torn)
                    whole, torn = (whole + 1, torn) if is_whole(frame) else (whole, torn + 1)
            counts = receiver.counts()
        self.assertEqual((whole, torn), (FRAMES, 0))
        self.assertEqual((counts.frames_received, counts.frames_skipped, counts.frames_lost), (FRAMES, 0, 0))
        self.assertEqual(counts.bytes_received, FRAMES * 320 * 180 * 4)
        self.assertEqual(sender.wait(DEADLINE_S), 0)

    def test_a_torn_frame_is_noticed(self):
        _, _, frame = self.one_frame((64, 64), fill=lambda slot: slot.numpy().fill(1))
        self.assertFalse(is_whole(frame))


# AddressSanitizer's allocator does not look after its locks in fork() (gcc 12): a child that is forked while another
# thread allocates waits for ever for its first bytes.
@unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "a forked child cannot allocate with AddressSanitizer")
class Forks(Streams):
    def in_child(self, check):
        """Forks; the child's exit status is 0 if `check` raises nothing."""
        child = os.fork()
        if child == 0:
            status = 1
            try:
                check()
                status = 0
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
            finally:
                os._exit(status)
        deadline = time.monotonic() + DEADLINE_S
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                self.fail("the child hangs")
            time.sleep(0.01)
        self.assertEqual(ended[1], 0)

    def test_objects_of_the_parent_are_dead_in_a_child(self):
        stream, receiver, frame = self.one_frame((8, 8), fill=lambda slot: slot.numpy().fill(4))
        array = frame.numpy()

        def check():
            for call in (receiver.acquire, receiver.counts, receiver.next_event, stream.claim, stream.counts,
                         lambda: frame.check()):
                try:
                    call()
                except framewire.ForkedError:
                    continue
                raise AssertionError(call)
            assert array.max() == 4
            frame.release()
            receiver.close()
            stream.close()
            receiver.log_lines()
        self.in_child(check)
        self.assertEqual((array.min(), receiver.counts().frames_held), (4, 1))
        stream.claim(timeout=DEADLINE_S).publish()
        self.assertEqual(receiver.acquire(timeout=DEADLINE_S).sequence, 1)

    def test_a_child_makes_its_own(self):
        stream = self.send((8, 8), delivery="every")
        address = f"127.0.0.1:{stream.sender.port}/test"

        def check():
            with framewire.receive(address, delivery="every") as receiver:
                assert receiver.acquire(timeout=DEADLINE_S).numpy().max() == 6

        def publish():
            with stream.claim(timeout=DEADLINE_S) as slot:
                slot.numpy()[:] = 6
        publishing = threading.Thread(target=publish)
        publishing.start()
        self.in_child(check)
        publishing.join(DEADLINE_S)

    def test_workers_of_multiprocessing(self):
        for method in ("fork", "spawn"):
            with self.subTest(method):
                stream = self.send((8, 8), viewers=4)
                address = f"127.0.0.1:{stream.sender.port}/test"
                stop = threading.Event()

                def publish(stream=stream, stop=stop):
                    while not stop.is_set():
                        if (slot := stream.claim(timeout=0.02)) is not None:
                            slot.numpy()[:] = 8
                            slot.publish()
                publishing = threading.Thread(target=publish)
                publishing.start()
                try:
                    with multiprocessing.get_context(method).Pool(2) as pool:
                        self.assertEqual(pool.map_async(worker, [address] * 4).get(DEADLINE_S), [8] * 4)
                finally:
                    stop.set()
                    publishing.join(DEADLINE_S)


def worker(address):
    with framewire.receive(address) as receiver, receiver.acquire(timeout=DEADLINE_S) as frame:
        return int(frame.numpy().max())


class Killed(Streams):
    def assert_slots_come_back(self, mode):
        stream = self.send((64, 64), delivery="every", timeout=2 * DEADLINE_S)  # for a peer that is silent, not dead
        process = self.python(HOLDS_SLOTS, f"127.0.0.1:{stream.sender.port}/test", mode)
        for _ in range(2):
            stream.claim(timeout=DEADLINE_S).publish()
        self.assertEqual(process.stdout.readline(), "holds\n")
        self.assertGreaterEqual(stream.counts().slots_in_use, 2)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.wait_until(lambda: stream.counts().slots_in_use == 0, "slots to come back")
        self.assertEqual(stream.counts().viewers, 0)

    def test_slots_of_a_killed_process_come_back(self):
        self.assert_slots_come_back("alone")

    def test_they_come_back_also_if_its_forked_child_lives_on(self):
        self.assert_slots_come_back("fork")


if __name__ == "__main__":
    unittest.main(verbosity=2)
