"""Ctrl-C on a program that dials or listens ends it soon, also while no name server and no host answers.

Needs root or user namespaces. Without them the tests are skipped with a message.
"""
import pathlib
import signal
import time
import unittest

import harness
import machines

SOON_S = 2 * harness.TIMEOUT_SCALE  # the promise; one attempt to connect takes 3 s
SILENT_SERVER, SILENT_HOST = "10.77.0.53", "10.77.0.9"
SILENT_NAME = "silent.example"
SYN_SENT = "02"  # net/tcp_states.h


@unittest.skipUnless(machines.are_possible(), machines.WHY_NOT)
class InterruptDialling(machines.TwoMachines):
    def setUp(self):
        super().setUp()
        for address in (SILENT_SERVER, SILENT_HOST):  # a neighbour entry for a host that does not exist
            self.on(0, "ip", "neighbour", "add", address, "lladdr", "02:00:00:00:00:09", "dev", "fw0")
        resolver = self.file("resolv.conf")
        resolver.write_text(f"nameserver {SILENT_SERVER}\noptions timeout:30 attempts:5\n")
        names = self.file("nsswitch.conf")
        names.write_text("hosts: files dns\n")
        self.prefix = [*self.within(0), "unshare", "-m", "sh", "-c",
                       f'mount --bind {resolver} /etc/resolv.conf && '
                       f'{{ [ ! -e /etc/nsswitch.conf ] || mount --bind {names} /etc/nsswitch.conf; }} && exec "$@"',
                       "sh"]
        if not pathlib.Path("/etc/resolv.conf").exists():
            self.skipTest("this machine has no /etc/resolv.conf to stand in for")

    def diallers(self, host: str):
        """Yields each dialling program and its exit status after Ctrl-C."""
        yield self.view(host, "--insecure", prefix=self.prefix), harness.OK
        yield self.send("pattern", "--size", "64x36", "--insecure", "--to", host, prefix=self.prefix), harness.OK
        yield self.start(*self.prefix, harness.BIN / "rdsend", host, "/etc/hostname", "--insecure"), harness.FAILED
        for tool in ("bench", "doctor"):
            yield self.start(*self.prefix, harness.BIN / f"framewire-{tool}", host, "--insecure"), None

    def listeners(self):
        """Yields each program that listens on a name, and its exit status after Ctrl-C."""
        at = ("--listen", SILENT_NAME, "--insecure")
        yield self.view(*at, prefix=self.prefix), harness.OK
        yield self.send("pattern", "--size", "64x36", *at, prefix=self.prefix), harness.OK
        for name, arguments in (("rdsend", ("/etc/hostname",)), ("rdrecv", (self.file("received"),)),
                                ("framewire-bench", ())):
            yield self.start(*self.prefix, harness.BIN / name, *at, *arguments), harness.FAILED

    def is_asking(self) -> bool:
        """Whether a process on that machine has a DNS query open."""
        return self.table_has("udp", 2, self.as_the_kernel_writes(SILENT_SERVER, 53))

    def is_connecting(self) -> bool:
        return self.table_has("tcp", 3, SYN_SENT)

    def table_has(self, table: str, column: int, value: str) -> bool:
        lines = pathlib.Path(f"/proc/{self.machines[0].pid}/net/{table}").read_text().splitlines()[1:]
        return any(line.split()[column] == value for line in lines)

    @staticmethod
    def as_the_kernel_writes(address: str, port: int) -> str:
        return "".join(f"{int(part):02X}" for part in reversed(address.split("."))) + f":{port:04X}"

    def check_all(self, programs, is_under_way) -> float:
        """Returns the longest time that one of them took to end."""
        took_s = 0.0
        for program, status in programs:
            with self.subTest(program.name):
                harness.wait_until(is_under_way, f"{program} to begin")
                interrupted_s = time.monotonic()
                program.interrupt()
                ended = program.wait_end()  # the resolver alone would wait for longer
                took_s = max(took_s, time.monotonic() - interrupted_s)
                wanted = (status,) if status is not None else (harness.OK, harness.FAILED, -signal.SIGINT)
                self.assertIn(ended, wanted, program.text)
                self.assertEqual(program.family(), [])
            program.kill()
        return took_s

    def test_while_a_name_is_looked_up(self):
        self.check_all(self.diallers(SILENT_NAME), self.is_asking)

    def test_while_the_name_to_listen_on_is_looked_up(self):
        self.check_all(self.listeners(), self.is_asking)

    def test_while_a_host_does_not_answer(self):
        """No attempt is waited for. Other work on this machine may delay an end, so one of some tries is enough."""
        took_s = [self.check_all(self.diallers(SILENT_HOST), self.is_connecting)]
        while took_s[-1] > SOON_S and len(took_s) < 5:
            took_s.append(self.check_all(self.diallers(SILENT_HOST), self.is_connecting))
        self.assertLess(took_s[-1], SOON_S, took_s)


if __name__ == "__main__":
    machines.main()
