"""framewire bench --plain, which runs under stacks that know only a few calls; and framewire bench article."""
import contextlib
import json
import os
import pathlib
import random
import socket
import unittest
import xml.etree.ElementTree

import harness
from bench_programs import BenchPrograms

FEW_CALLS = os.environ.get("FRAMEWIRE_FEW_CALLS", "")  # libfew_calls.so


def port_for_plain() -> int:
    """A free port that the kernel does not choose for others: this server, without SO_REUSEADDR, shares no held one."""
    lowest_chosen = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = list(range(1024, lowest_chosen))
    random.shuffle(ports)
    for port in ports:
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise unittest.SkipTest("the kernel chooses among all ports here")


class Plain(BenchPrograms):
    def setUp(self):
        super().setUp()
        self.port = port_for_plain()
        self.at = f"127.0.0.1:{self.port}"

    def serve(self, **more):
        server = self.start(harness.BIN / "framewire-bench", "--listen", self.at, "--plain", **more)
        harness.wait_until(lambda: harness.listening_on(self.port), "the server to listen")
        return server

    def measure(self, *options, **more) -> list[dict]:
        with self.file("stdout").open("w+b") as stdout:
            self.ends(self.start(harness.BIN / "framewire-bench", self.at, "--plain", "--json", *options, stdout=stdout,
                                 **more))
        return json.loads(self.file("stdout").read_text())["results"]

    def check(self, rows, label: str, count: int):
        self.assertEqual({(row["transport"], row["label"], row["count"]) for row in rows}, {("socket", label, count)})
        self.assertEqual({row["operation"] for row in rows}, {"stream", "latency"})
        for row in rows:
            self.assertGreater(row["server_seconds"], 0, row)

    def test_one_server_serves_rows_of_all_sizes(self):
        self.serve()
        self.check(self.measure("--message-bytes", "1,64,100000,1M", "--count", "40", "--touch"), "plain", 40)
        self.check(self.measure("--message-bytes", "64", "--count", "5", "--label", "kernel"), "kernel", 5)

    @unittest.skipIf(harness.IS_SANITIZED, "a sanitizer's library must be the first")
    def test_a_stack_of_few_calls_is_enough(self):
        with_few = {"environment": self.environment() | {"LD_PRELOAD": FEW_CALLS}}
        forbidden = self.start(harness.BIN / "framewire-bench", "--transport", "socket", "--count", "1", **with_few)
        self.assertNotEqual(forbidden.wait_end(), 0, "the library forbids what other rows call")
        self.assertIn("is no call of a plain stack", forbidden.text)
        self.serve(**with_few)
        self.check(self.measure("--message-bytes", "64,1M", "--count", "100", **with_few), "plain", 100)

    def test_bad_clients_end_their_rows_alone(self):
        server = self.serve()
        for said in (b"", b"GET / HTTP/1.1\r\n\r\n" * 10, b"FFWPLAIN" + bytes(24), b"FFWPLAIN" + b"\xff" * 24):
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(said)
        program = self.start(harness.BIN / "framewire-bench", self.at, "--plain", "--count", "1000000000",
                             "--message-bytes", "4k")
        server.wait_line("a client's row ended early")
        program.kill()
        self.check(self.measure("--message-bytes", "64", "--count", "5"), "plain", 5)
        self.assertGreaterEqual(server.text.count("a client's row ended early"), 4, server.text)

    def test_a_server_that_goes_is_lost(self):
        server = self.serve()
        program = self.start(harness.BIN / "framewire-bench", self.at, "--plain", "--count", "1000000000",
                             "--message-bytes", "4k")
        harness.wait_until(lambda: harness.payload_moves_to(self.port) or not program.is_running(), "payload")
        server.kill()
        self.assertEqual(program.wait_end(), harness.LOST, program.text)
        self.assertIn("the other end of a plain socket is gone", program.text)

    def test_nobody_there(self):
        program = self.start(harness.BIN / "framewire-bench", self.at, "--plain", "--count", "1")
        self.assertEqual(program.wait_end(), harness.LOST, program.text)
        self.assertIn(f"no plain bench server answers at {self.at}", program.text)


class Article(BenchPrograms):
    def test_its_table_and_its_plot(self):
        plot = self.file("rates.svg")
        table = self.bench("article", "--count", "200", "--plot", plot).splitlines()
        rows = [line for line in table[1:] if line.split()[0] in ("socket", "local", "tcp")]
        self.assertGreaterEqual(len(rows), 6)
        self.assertLessEqual(max(map(len, table)), 120)
        for title in ("cli ms", "srv ms", "msg/s", "MB/s"):
            self.assertIn(title, table[0])
        self.assertTrue(table[0].endswith(" x"), table[0])
        texts = [one.text for one in xml.etree.ElementTree.parse(plot).iter("{http://www.w3.org/2000/svg}text")]
        for text in ("Throughput", "socket", "local", "tcp", "64", "1M"):
            self.assertIn(text, texts)

    def test_as_json(self):
        rows = json.loads(self.bench("article", "--count", "100", "--json"))["results"]
        self.assertEqual({(row["message_bytes"], row["count"]) for row in rows}, {(64, 100), (1 << 20, 1)})

    def test_a_plot_that_cannot_be_written(self):
        self.bench("article", "--count", "1", "--plot", self.folder / "none" / "rates.svg", status=harness.FAILED)
        self.assertIn("write the plot", self.program.text)
        self.bench("article", "--count", "1", "--plot", "/dev/full", status=harness.FAILED)
        self.assertIn("write the plot '/dev/full'", self.program.text)


if __name__ == "__main__":
    harness.main()
