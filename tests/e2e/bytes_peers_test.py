"""Strangers, wrong keys, and a peer that is killed or stopped at any byte: what is written is exact, or its beginning and said to be."""
import os
import random
import socket

import harness
from byte_programs import SMALL, BytePrograms

HALF_A_TLS_HELLO = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + bytes(34)
SAYINGS = (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0" * 4096, HALF_A_TLS_HELLO, b"FWCTRL01", b"FWDATA01" + bytes(200), b"")
SEED = int(os.environ.get("FRAMEWIRE_SEED", random.randrange(1 << 32)))


class Peers(BytePrograms):
    def key(self, name: str):
        if not self.file(name).exists():
            self.ends(self.start(harness.BIN / "framewire-key", "--file", self.file(name)))
        return self.file(name)

    def knock(self, address: str, saying: bytes) -> socket.socket:
        host, port = address.split(":")
        connection = socket.create_connection((host, int(port)), harness.WATCHDOG_S)
        self.addCleanup(connection.close)
        try:
            connection.sendall(saying)
        except OSError:
            pass  # closed already, which is as good
        return connection

    def check_exact(self, receiver, sender, original):
        self.ends(sender)
        self.ends(receiver)
        self.assertTrue(self.file("copy").read_bytes() == original.read_bytes())

    # ---- strangers

    def test_strangers_before_and_meanwhile(self):
        original, copy = self.data(3_000_000), self.file("copy")
        for options in (("--key", self.key("key")), ()):
            with self.subTest(options):
                receiver = self.receiver(copy, *options)
                kept = [self.knock(receiver.address, saying) for saying in SAYINGS]
                kept += [self.knock(receiver.address, os.urandom(10_000)) for _ in range(5)]
                sender = self.sender(receiver.address, original, "--transport", "tcp", "--limit", "3M", *SMALL, *options)
                harness.wait_until(lambda: copy.exists() and copy.stat().st_size > 0, "the first bytes")
                kept += [self.knock(receiver.address, saying) for saying in SAYINGS]
                self.check_exact(receiver, sender, original)
                copy.unlink()

    def test_strangers_at_a_sender_that_listens(self):
        original, port = self.data(1_000_000), harness.free_port()
        sender = self.sender("--listen", f"127.0.0.1:{port}", original, "--key", self.key("key"))
        harness.wait_until(lambda: self.listens(port), "the sender to listen")
        for saying in SAYINGS:
            self.knock(f"127.0.0.1:{port}", saying)
        wrong = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", self.file("wrong"), "--key", self.key("other"))
        self.ends(wrong, harness.REFUSED)
        self.one_sentence(wrong, "key")
        self.assertFalse(self.file("wrong").exists(), "an older file would still be there")
        receiver = self.start(harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}", self.file("copy"), "--key", self.key("key"))
        self.check_exact(receiver, sender, original)

    @staticmethod
    def listens(port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def test_two_hundred_connections_that_say_nothing(self):
        original = self.data(1_000_000)
        receiver = self.receiver(self.file("copy"), "--key", self.key("key"))
        idle = [self.knock(receiver.address, b"") for _ in range(200)]
        self.check_exact(receiver, self.sender(receiver.address, original, "--key", self.key("key")), original)
        self.assertEqual(len(idle), 200)

    def test_a_second_sender(self):
        """The first one's bytes stay its own; the other is refused, and told why."""
        receiver = self.receiver(self.file("copy"))
        original = self.data(2_000_000)
        first = self.sender(receiver.address, original, "--limit", "2M", *SMALL)
        first.wait_line("transport=")
        second = self.start(harness.BIN / "rdsend", receiver.address, self.data(100))
        self.ends(second, harness.REFUSED)
        self.one_sentence(second, "has a sender already")
        self.check_exact(receiver, first, original)

    def test_a_second_receiver(self):
        original, port = self.data(2_000_000), harness.free_port()
        sender = self.sender("--listen", f"127.0.0.1:{port}", original, "--limit", "2M", *SMALL)
        ask = (harness.BIN / "rdrecv", "--from", f"127.0.0.1:{port}")
        first = self.start(*ask, self.file("copy"))
        first.wait_line("transport=")
        second = self.start(*ask, self.file("other"))
        self.ends(second, harness.REFUSED)
        self.one_sentence(second, "has its receiver already")
        self.check_exact(first, sender, original)

    # ---- what does not begin

    def test_a_port_in_use(self):
        receiver = self.receiver(self.file("copy"))
        for program, arguments in (("rdrecv", ()), ("rdsend", (self.data(1),))):
            second = self.run_to_end(harness.BIN / program, "--listen", receiver.address, *arguments)
            self.ends(second, harness.FAILED)
            self.one_sentence(second, f"port {receiver.address.split(':')[1]} is in use")

    def test_a_host_that_nobody_knows(self):
        for program, arguments in (("rdsend", ("no-such-host.invalid",)), ("rdrecv", ("--from", "no-such-host.invalid"))):
            with self.subTest(program):
                ended = self.run_to_end(harness.BIN / program, *arguments, "--retry", "500ms")
                self.assertIn(ended.process.returncode, (harness.FAILED, harness.LOST))
                self.one_sentence(ended, "no-such-host.invalid")
                self.assertRegex(ended.text, "not known")

    # ---- what ends early

    def check_killed(self, victim: str, transport: str, moment: int, original):
        copy = self.file("copy")
        copy.unlink(missing_ok=True)
        receiver = self.receiver(copy)
        sender = self.sender(receiver.address, original, "--transport", transport, "--limit", "20M", *SMALL)
        ended, survivor, said = (sender, receiver, "sender") if victim == "sender" else (receiver, sender, "receiver")
        harness.wait_until(lambda: not survivor.is_running() or (copy.exists() and copy.stat().st_size >= moment), f"{moment} bytes",
                           between_looks_s=0.001)
        ended.kill()
        whole = original.read_bytes()
        written = copy.read_bytes() if copy.exists() else b""
        if survivor.wait_end() == harness.OK:
            self.assertTrue(written == whole, "only what is whole is said to be")
            return False
        self.ends(survivor, harness.LOST)
        self.one_sentence(survivor, *((f"(lost the {said}|the {said} ended) after",) if written else ()),
                          *(("not complete",) if written and survivor is receiver else ()))
        self.assertTrue(whole.startswith(copy.read_bytes() if copy.exists() else b""))
        return True

    def test_killed_at_any_byte(self):
        print(f"FRAMEWIRE_SEED={SEED} repeats this run", end=" ", flush=True)
        chance = random.Random(SEED)
        original = self.data(2_000_003)
        lost = 0
        for turn in range(20):
            victim, transport = ("sender", "receiver")[turn % 2], ("local", "tcp")[turn // 2 % 2]
            moment = chance.choice((0, 1, 2_000_003, chance.randrange(2_000_003), chance.randrange(2_000_003), chance.randrange(2_000_003)))
            with self.subTest(f"{victim} over {transport} at {moment} with FRAMEWIRE_SEED={SEED}"):
                lost += self.check_killed(victim, transport, moment, original)
        self.assertGreater(lost, 5)

    def test_stopped_for_longer_than_the_timeout(self):
        """Whoever stands still is slow; only who does not answer at all is lost."""
        original, copy = self.data(3_000_000), self.file("copy")
        for transport in ("local", "tcp"):
            with self.subTest(transport):
                receiver = self.receiver(copy, "--timeout", "1s")
                sender = self.sender(receiver.address, original, "--transport", transport, "--limit", "2M", "--timeout", "1s", *SMALL)
                harness.wait_until(lambda: copy.exists() and copy.stat().st_size > 0, "the first bytes")
                for stopped, other in ((receiver, sender), (sender, receiver)):
                    stopped.pause()
                    with self.assertRaises(AssertionError):
                        other.wait_line("lost the", 2)
                    stopped.go_on()
                self.check_exact(receiver, sender, original)
                copy.unlink()


if __name__ == "__main__":
    harness.main()
