"""framewire bench over Ethernet frames: AF_XDP sockets on a virtual cable and between two machines. It needs root; the
tests that do not get XDP sockets are skipped with the reason."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

import harness
import machines
from bench_programs import BenchPrograms

XDP = ("--transport", "xdp")
WITHOUT = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")  # capabilities
ALL_FRAME_ROWS = {"socket veth", "udp veth/1", "udp veth/32", "xdp generic/1 copy", "xdp generic/32 copy",
                  "xdp native/1 copy", "xdp native/32 copy"}


def why_not() -> str:
    """Why this machine has no XDP sockets for this user; empty if it has."""
    tried = subprocess.run([harness.BIN / "framewire-bench", *XDP, "--xdp-mode", "generic", "--operation", "stream",
                            "--message-bytes", "64", "--count", "1"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode == harness.REFUSED else ""


WHY_NOT = why_not()


def named_namespaces() -> list[str]:
    return sorted(path.name for path in pathlib.Path("/run/netns").glob("*"))


def servers_of(program) -> list[int]:
    """The processes of its session that serve a row over a virtual cable."""
    return [pid for pid in program.family()
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "veth-server"]


def has_bpf(pid: int) -> bool:
    """Whether the process holds an XDP program."""
    links = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(entry))
        except OSError:
            continue
    return any("bpf" in link for link in links)


def is_zombie(pid: int) -> bool:
    """Whether the process has ended, and its parent has not asked how."""
    return "State:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class OverAVirtualCable(BenchPrograms):
    def setUp(self):
        super().setUp()
        self.named_before = named_namespaces()

    def rows(self, *options) -> list[dict]:
        return json.loads(self.bench(*XDP, "--json", *options))["results"]

    def check(self, rows, count: int):
        for row in rows:
            self.assertEqual(row["count"], count, row)
            if row["transport"] != "socket":
                self.assertEqual((row["messages_arrived"], row["frames_lost"]), (count, 0), row)

    def test_a_hundred_thousand_messages_arrive_once_and_whole(self):
        rows = self.rows("--message-bytes", "64", "--operation", "stream", "--count", "100000", "--touch")
        self.assertEqual({row["label"] for row in rows}, ALL_FRAME_ROWS)
        self.check(rows, 100000)

    def test_messages_of_any_size_arrive_in_fragments(self):
        sizes = "1,7,8,9,1471,1472,1473,1500,4096,100001,1M"
        rows = self.rows("--message-bytes", sizes, "--operation", "stream", "--count", "50", "--touch", "--batch", "32")
        self.assertEqual(len(rows), 11 * 4)
        self.check(rows, 50)

    def test_latency_and_spinning(self):
        rows = self.rows("--message-bytes", "64,5000", "--operation", "latency", "--count", "300", "--spin", "--touch")
        self.check(rows, 300)
        for row in rows:
            self.assertEqual(row["latency_method"], "half_round_trip")
            self.assertGreater(row["latency_us"]["p50"], 0, row)

    def test_paced(self):
        rows = self.rows("--message-bytes", "64", "--operation", "latency", "--count", "20", "--rate", "100")
        self.check(rows, 20)
        for row in rows:
            self.assertGreaterEqual(row["client_seconds"], 0.19, row)

    def test_its_table_fits_a_terminal(self):
        table = self.bench(*XDP, "--message-bytes", "64", "--count", "10000", "--operation", "stream").splitlines()
        self.assertLessEqual(max(map(len, table)), 120)
        self.assertIn("lost", table[0])

    def begin(self, *options):
        """A program whose server is in a row over XDP. The rows over TCP and UDP come first."""
        program = self.start(harness.BIN / "framewire-bench", *XDP, "--operation", "stream", "--message-bytes", "64",
                             "--duration", "1s", "--batch", "32", *options)
        server = harness.wait_until(lambda: servers_of(program), "the row's server")[0]
        harness.wait_until(lambda: has_bpf(server), "a row over XDP", poll_interval_s=0.001)
        self.assertNotEqual(os.readlink(f"/proc/{server}/ns/net"), os.readlink("/proc/self/ns/net"))
        return program, server

    def check_that_nothing_is_left(self, program):
        """A namespace without a name goes with its last process, and a cable with one of its ends."""
        harness.wait_until(lambda: program.family() == [], "its processes to end")
        self.assertEqual(named_namespaces(), self.named_before)
        self.assertEqual([path for path in os.listdir("/sys/class/net") if path.startswith("fw-")], [])

    def test_whoever_is_killed_leaves_nothing_behind(self):
        for mode in ("generic", "native"):
            program, _ = self.begin("--xdp-mode", mode)
            program.kill()
            self.check_that_nothing_is_left(program)
            program, server = self.begin("--xdp-mode", mode)
            os.kill(server, signal.SIGKILL)
            self.assertEqual(program.wait_end(), harness.LOST, program.text)
            self.check_that_nothing_is_left(program)

    def test_a_cable_that_goes_before_its_program_is_attached(self):
        """The server prepares its end first. Whatever this end does at that moment, it has lost its peer."""
        program, server = self.begin("--xdp-mode", "generic")
        program.pause()
        os.kill(server, signal.SIGKILL)
        harness.wait_until(lambda: is_zombie(server), "the server to end")
        program.go_on()
        self.assertEqual(program.wait_end(), harness.LOST, program.text)
        self.check_that_nothing_is_left(program)

    def test_ctrl_c_ends_it(self):
        for wait in ((), ("--spin",)):
            program, _ = self.begin(*wait)
            program.interrupt()
            self.ends(program)
            self.assertRegex(program.text, "interrupted; [23] of 4")
            self.check_that_nothing_is_left(program)

    def test_a_server_that_stalls_is_given_up(self):
        program, server = self.begin("--xdp-mode", "generic")
        os.kill(server, signal.SIGSTOP)
        self.assertEqual(program.wait_end(), harness.LOST, program.text)
        self.assertRegex(program.text, "has answered no frame for|has not answered within")
        self.check_that_nothing_is_left(program)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class BetweenMachines(machines.TwoMachines):
    """Namespaces with one cable, over which the control channel runs, too: frames that are none of the row's."""

    def serve(self, *options):
        server = self.start(*self.within(1), harness.BIN / "framewire-bench", "--listen",
                            f"{machines.ADDRESSES[1]}:5290", "--insecure", *options)
        server.wait_line("^waiting for a sender on ")
        return server

    def client(self, *options, **more):
        return self.start(*self.within(0), harness.BIN / "framewire-bench", f"{machines.ADDRESSES[1]}:5290",
                          "--insecure", *XDP, "--message-bytes", "64,3000", *options, **more)

    def results(self, *options) -> list[dict]:
        with self.file("stdout").open("w+b") as stdout:
            self.ends(self.client("--interface", "fw0", "--json", "--touch", *options, stdout=stdout))
        return json.loads(self.file("stdout").read_text())["results"]

    def test_every_message_arrives(self):
        server = self.serve("--interface", "fw0")
        rows = self.results("--count", "2000")
        self.assertEqual({row["label"] for row in rows},
                         {f"xdp {mode}/{batch} copy" for mode in ("generic", "native") for batch in (1, 32)})
        for row in rows:
            self.assertEqual((row["count"], row["messages_arrived"], row["frames_lost"]), (2000, 2000, 0), row)
            self.assertIsNone(row["one_way_us"], "the clocks of two machines differ")
        server.interrupt()
        self.ends(server)

    def test_what_cannot_be(self):
        server = self.serve()
        program = self.client("--interface", "fw0", "--count", "1")
        self.ends(program, harness.REFUSED)
        self.assertIn("start it with --interface NAME", program.text)
        server.interrupt()
        self.ends(server)
        server = self.serve("--interface", "fw0")
        for name, words in (("fw1", "there is no network interface 'fw1'"), ("lo", "'lo' is no Ethernet"),
                            ("a" * 40, "there is no network interface")):
            program = self.client("--interface", name, "--count", "1")
            self.ends(program, harness.FAILED)
            self.assertIn(words, program.text)

    def test_an_mtu_that_native_mode_refuses_is_named_with_one_that_works(self):
        for machine in (0, 1):
            self.on(machine, "ip", "link", "set", "fw0", "mtu", "9000")
        self.serve("--interface", "fw0")
        program = self.client("--interface", "fw0", "--count", "1", "--xdp-mode", "native")
        self.ends(program, harness.FAILED)
        said = re.search(r"its MTU of 9000 is too large; up to (\d+) works", program.text)
        self.assertTrue(said, program.text)
        for machine in (0, 1):
            self.on(machine, "ip", "link", "set", "fw0", "mtu", said.group(1))
        rows = self.results("--count", "100", "--xdp-mode", "native")
        self.assertTrue(all(row["frames_lost"] == 0 for row in rows), rows)

    def test_a_server_without_capabilities_says_so(self):
        server = self.start(*self.within(1), *WITHOUT, harness.BIN / "framewire-bench", "--listen",
                            f"{machines.ADDRESSES[1]}:5290", "--insecure", "--interface", "fw0")
        server.wait_line("^waiting for a sender on ")
        program = self.client("--interface", "fw0", "--count", "1")
        self.ends(program, harness.REFUSED)
        self.assertIn("the server: this needs cap_net_admin, ", program.text)

    def test_ctrl_c_ends_a_server_in_the_middle_of_a_row(self):
        for options in (("--touch",), ("--spin",)):
            server = self.serve("--interface", "fw0")
            client = self.client("--interface", "fw0", "--xdp-mode", "generic", "--operation", "stream", "--batch", "1",
                                 "--count", "1000000000", *options)
            harness.wait_until(lambda: self.is_attached(0) and self.is_attached(1), "both ends to be attached")
            server.interrupt()
            self.ends(server)
            self.assertEqual(client.wait_end(), harness.LOST, client.text)

    def is_attached(self, machine) -> bool:
        said = subprocess.run([*self.within(machine), "ip", "-details", "link", "show", "fw0"], check=True,
                              capture_output=True, text=True).stdout
        return "xdp" in said

    def test_an_interface_in_use_and_a_peer_that_vanishes(self):
        server = self.serve("--interface", "fw0")
        first = self.client("--interface", "fw0", "--xdp-mode", "generic", "--operation", "stream", "--batch", "32",
                            "--count", "1000000000")
        harness.wait_until(lambda: self.is_attached(0) and self.is_attached(1), "both ends to be attached")
        second = self.serve_elsewhere()
        program = self.start(*self.within(0), harness.BIN / "framewire-bench", f"{machines.ADDRESSES[1]}:5291",
                             "--insecure", *XDP, "--interface", "fw0", "--xdp-mode", "generic", "--count", "1")
        self.ends(program, harness.FAILED)
        # It was said over TCP, whose frames went through both XDP programs to the kernel.
        self.assertIn("another XDP program is on it", program.text)
        server.kill()
        self.assertEqual(first.wait_end(), harness.LOST, first.text)
        harness.wait_until(lambda: not self.is_attached(0) and not self.is_attached(1), "the programs to go")
        second.interrupt()
        self.ends(second)

    def serve_elsewhere(self):
        server = self.start(*self.within(1), harness.BIN / "framewire-bench", "--listen",
                            f"{machines.ADDRESSES[1]}:5291", "--insecure", "--interface", "fw0")
        server.wait_line("^waiting for a sender on ")
        return server


@unittest.skipIf(os.geteuid() != 0, "only root can give its capabilities away")
class WithoutCapabilities(BenchPrograms):
    """As a plain user would."""

    LOCKS_WITHIN_LIMIT = ("setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock",
                          harness.BIN / "framewire-bench", *XDP, "--message-bytes", "64", "--count", "10",
                          "--xdp-mode", "generic", "--batch", "32")

    @unittest.skipIf(WHY_NOT, WHY_NOT)
    def test_memory_beyond_the_limit_needs_a_capability(self):
        program = self.start("prlimit", "--memlock=1000000", *self.LOCKS_WITHIN_LIMIT)
        self.ends(program, harness.REFUSED)
        self.assertIn("this needs cap_ipc_lock; ", program.text)

    @unittest.skipIf(WHY_NOT, WHY_NOT)
    def test_memory_within_the_limit_does_not(self):
        raised = ("prlimit", "--memlock=unlimited")
        if subprocess.run([*raised, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("root may not raise this limit here")
        self.ends(self.start(*raised, *self.LOCKS_WITHIN_LIMIT))

    def test_what_is_needed_is_said(self):
        program = self.start(*WITHOUT, harness.BIN / "framewire-bench", *XDP)
        self.ends(program, harness.REFUSED)
        self.assertRegex(program.text, r"this needs cap_net_admin, .*: sudo setcap \S+ep \S+/framewire-bench")

    def test_the_article_leaves_the_rows_out(self):
        with self.file("stdout").open("w+b") as stdout:
            program = self.start(*WITHOUT, harness.BIN / "framewire-bench", "article", "--count", "100", "--json",
                                 stdout=stdout)
            self.ends(program)
        self.assertRegex(program.text, "rows are left out .* xdp generic over veth, xdp native over veth: this needs")
        rows = json.loads(self.file("stdout").read_text())["results"]
        self.assertLessEqual({"socket", "local", "tcp"}, {row["transport"] for row in rows})
        self.assertNotIn("xdp", {row["transport"] for row in rows})


if __name__ == "__main__":
    harness.main()
