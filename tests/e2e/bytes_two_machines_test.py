"""rdsend and rdrecv between two machines with a faulty cable: the copy is exact, or both programs report an error."""
import os
import re
import subprocess
import threading
import unittest

import harness
import machines
from byte_programs import SMALL, BytePrograms

SENDER_ADDRESS, RECEIVER_ADDRESS = machines.ADDRESSES
TIMEOUT_S = 3


@unittest.skipUnless(machines.are_possible(), machines.WHY_NOT)
class Bytes(machines.TwoMachines, BytePrograms):
    def setUp(self):
        super().setUp()
        self.key = self.make_key("key")
        self.copy = self.file("copy")

    def receiver(self, *arguments, listen="*:5291", **options):
        return super().receiver("--key", self.key, *arguments, listen=listen, prefix=self.within(1), **options)

    def sender(self, *arguments, **options):
        return super().sender(RECEIVER_ADDRESS, "--key", self.key, *arguments, prefix=self.within(0), **options)

    def halfway(self, original, *options, seconds_in_all: float):
        """Starts both programs; returns when some bytes are written and more are to come."""
        timeout = ("--timeout", f"{TIMEOUT_S}s")
        receiver = self.receiver(self.copy, *timeout)
        limit = int(original.stat().st_size / seconds_in_all)
        sender = self.sender(original, "--limit", limit, *SMALL, *timeout, *options)
        harness.wait_until(lambda: self.copy.exists() and self.copy.stat().st_size > 0, "the first bytes")
        return receiver, sender

    def check_exact(self, original, receiver, sender):
        self.ends(sender)
        self.ends(receiver)
        self.assertTrue(self.copy.read_bytes() == original.read_bytes())

    def drop(self, machine: int, rule: str):
        """`machine` silently drops received packets that match `rule`, until let_through()."""
        self.on(machine, "nft", "add table inet test; add chain inet test in { type filter hook input priority 0; }; "
                                f"add rule inet test in {rule} counter drop")

    def dropped(self, machine: int) -> int:
        """The number of packets that the rule of drop() has matched."""
        said = subprocess.run([*self.within(machine), "nft", "list", "table", "inet", "test"], capture_output=True,
                              text=True, check=True).stdout
        return int(re.search(r"counter packets (\d+)", said).group(1))

    def let_through(self, machine: int):
        self.on(machine, "nft", "delete", "table", "inet", "test")

    def check_lost(self, receiver, sender, original):
        self.ends(sender, harness.LOST)
        self.ends(receiver, harness.LOST)
        self.one_message(sender, "lost the receiver after [0-9.]+ [kM]?B")
        self.one_message(receiver, "lost the sender after [0-9.]+ [kM]?B", "not complete")
        written = self.copy.read_bytes()
        self.assertLess(len(written), original.stat().st_size)
        self.assertTrue(original.read_bytes().startswith(written))

    def test_localhost_where_nobody_knows_that_name(self):
        """As in a container without /etc/hosts."""
        without_names = ("unshare", "-m", "sh", "-c", 'mount --bind /dev/null /etc/hosts && exec "$@"', "sh")
        receiver = BytePrograms.receiver(self, self.copy, prefix=(*self.within(0), *without_names))
        original = self.data(1000)
        sender = BytePrograms.sender(self, f"localhost:{receiver.address.rpartition(':')[2]}", original,
                                     prefix=(*self.within(0), *without_names))
        self.check_exact(original, receiver, sender)

    def test_cut_for_longer_than_the_timeout(self):
        for end in (0, 1):
            with self.subTest(f"machine {end} hears nothing"):
                original = self.data(4_000_000)
                receiver, sender = self.halfway(original, seconds_in_all=60)
                self.drop(end, "tcp dport != 0")
                self.check_lost(receiver, sender, original)
                self.let_through(end)
                self.copy.unlink()

    def test_cut_while_nothing_is_under_way(self):
        """No data is unacknowledged then, so TCP notices a lost peer only by keepalive probes."""
        receiver = self.receiver(self.copy, "--timeout", f"{TIMEOUT_S}s")
        sender = self.sender("--timeout", f"{TIMEOUT_S}s", stdin=subprocess.PIPE)
        self.addCleanup(sender.process.stdin.close)
        sender.process.stdin.write(b"some")
        sender.process.stdin.flush()
        harness.wait_until(lambda: self.copy.exists() and self.copy.read_bytes() == b"some", "the first bytes")
        self.on(1, "ip", "link", "set", "fw0", "down")
        self.ends(sender, harness.LOST)
        self.ends(receiver, harness.LOST)
        self.one_message(sender, "lost the receiver after 4 B")
        self.one_message(receiver, "lost the sender after 4 B", "not complete")
        self.assertEqual(self.copy.read_bytes(), b"some")

    def test_cut_for_shorter_than_the_timeout(self):
        original = self.data(4_000_000)
        receiver = self.receiver(self.copy, "--timeout", "60s")
        sender = self.sender("--timeout", "60s", *SMALL, stdin=subprocess.PIPE)
        data = original.read_bytes()
        with sender.process.stdin as stdin:
            stdin.write(data[:1_000_000])
            harness.wait_until(lambda: self.copy.exists() and self.copy.stat().st_size > 0, "the first bytes")
            self.drop(1, "tcp dport != 0")
            writing = threading.Thread(target=stdin.write, args=(data[1_000_000:],))  # waits for the receiver
            writing.start()
            harness.wait_until(lambda: self.dropped(1) > 0, "packets to be lost")
            self.assertEqual(sender.complaints() + receiver.complaints(), [])
            self.let_through(1)
            writing.join()
        self.check_exact(original, receiver, sender)

    def test_one_packet_in_a_hundred_is_lost(self):
        original = self.data(20_000_000)
        for end in (0, 1):
            self.drop(end, "numgen random mod 100 == 0")
        receiver = self.receiver(self.copy)
        self.check_exact(original, receiver, self.sender(original, *SMALL))

    def test_the_receipt_comes_later_than_the_end_of_the_data(self):
        """They use separate connections and may arrive in either order. The copy is complete in both."""
        original = self.data(5_000_000)  # more than the pipe holds, so the end is still unsent
        reads, writes = os.pipe()
        receiver = self.receiver(stdout=writes)
        os.close(writes)
        sender = self.sender(original)
        with os.fdopen(reads, "rb") as pipe:
            came = pipe.read(1)
            self.drop(0, f"tcp dport {self.control_port()} tcp flags & (psh | fin) != 0")
            came += pipe.read()
        self.assertTrue(came == original.read_bytes())
        self.ends(receiver)
        harness.wait_until(lambda: self.connections() < 2, "the end of the data connection")
        self.let_through(0)
        self.ends(sender)

    def established(self) -> list[int]:
        """The sender's ports, in the order of their connections."""
        said = subprocess.run([*self.within(0), "ss", "-tnO", "state", "established"], capture_output=True, text=True,
                              check=True).stdout
        return [int(port) for port in re.findall(rf"{SENDER_ADDRESS}:(\d+)\s+{RECEIVER_ADDRESS}:5291", said)]

    def connections(self) -> int:
        return len(self.established())

    def control_port(self) -> int:
        """The control channel uses TLS and has received more bytes. The data connection receives only credits."""
        said = subprocess.run([*self.within(0), "ss", "-tniO", "state", "established"], capture_output=True, text=True,
                              check=True).stdout
        received = {int(port): int(came)
                    for port, came in re.findall(rf"{SENDER_ADDRESS}:(\d+)\s.*bytes_received:(\d+)", said)}
        self.assertEqual(len(received), 2, said)
        return max(received, key=received.get)


if __name__ == "__main__":
    machines.main()
