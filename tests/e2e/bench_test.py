"""framewire bench prints its results as documented. These tests do not check speed."""
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import unittest

import harness
from bench_programs import BenchPrograms

KEYS = {"transport", "operation", "message_bytes", "count", "seconds", "gigabytes_per_second", "messages_per_second",
        "latency_us", "cpu_seconds"}
# The links that every machine can use: on one machine, and to a server. A further such link enters here.
HERE = {"local", "tcp"}
THERE = {"tcp"}


class Bench(BenchPrograms):
    def check_rows(self, rows, transports, count: int):
        self.assertEqual({row["transport"] for row in rows}, transports)
        self.assertEqual({row["operation"] for row in rows}, {"stream", "latency"})
        for row in rows:
            self.assertLessEqual(KEYS, set(row))
            self.assertEqual(row["count"], count, row)
            self.assertGreater(row["seconds"], 0)
            self.assertGreater(row["cpu_seconds"], 0)
            self.assertLessEqual(row["latency_us"]["p50"], row["latency_us"]["p99"])
            self.assertLessEqual(row["latency_us"]["p99"], row["latency_us"]["p99.9"])
            self.assertLessEqual(row["latency_us"]["p99.9"], row["latency_us"]["max"])
            self.assertEqual(row["latency_method"],
                             {"stream": "one_way", "latency": "half_round_trip"}[row["operation"]])
            self.assertGreaterEqual(row["one_way_us"]["uncertainty"], 0)
            if row["operation"] == "stream":
                self.assertEqual(row["one_way_us"]["max"], row["latency_us"]["max"])
            else:  # 1.02: the largest error of a bin's middle
                self.assertLessEqual(2e-6 * row["latency_us"]["p50"] * count / 2, 1.02 * row["client_seconds"],
                                     "half of the round trips were at least so long")
            self.assertAlmostEqual(row["gigabytes_per_second"] * row["seconds"] * 1e9, count * row["message_bytes"],
                                   delta=0.01 * count * row["message_bytes"])
            self.assertAlmostEqual(row["messages_per_second"] * row["seconds"], count, delta=0.01 * count)

    def test_every_link_on_one_machine(self):
        rows = json.loads(self.bench("--message-bytes", "64,1M", "--count", "200", "--json"))["results"]
        self.assertEqual(len(rows), 2 * 2 * len(HERE | {"socket"}))
        self.assertEqual({row["message_bytes"] for row in rows}, {64, 1 << 20})
        self.check_rows(rows, HERE | {"socket"}, 200)

    def test_only_what_was_asked_for(self):
        for transport in ("local", "tcp", "socket"):
            rows = json.loads(self.bench("--transport", transport, "--message-bytes", "4k", "--count", "100",
                                         "--json"))["results"]
            self.check_rows(rows, {transport}, 100)

    def test_spinning_and_touching(self):
        rows = json.loads(self.bench("--transport", "local", "--message-bytes", "4k", "--count", "100", "--spin",
                                     "--touch", "--json"))
        self.check_rows(rows["results"], {"local"}, 100)

    def test_a_table_for_people(self):
        table = self.bench("--transport", "local", "--message-bytes", "64", "--count", "50").splitlines()
        for words in ("link", "msg/s", "MB/s", "p99"):
            self.assertIn(words, table[0])
        self.assertTrue(any(line.startswith("local") for line in table[1:]))
        self.assertLessEqual(max(map(len, table)), 120, "columns of a terminal")

    def test_a_server_and_a_client(self):
        port = harness.free_port()
        server = self.start(harness.BIN / "framewire-bench", "--listen", f"127.0.0.1:{port}", stdout=subprocess.DEVNULL)
        server.wait_line("^waiting for a sender on ")
        rows = json.loads(self.bench(f"127.0.0.1:{port}", "--message-bytes", "64k", "--count", "50",
                                     "--json"))["results"]
        self.check_rows([row for row in rows if row["transport"] != "socket"], THERE, 50)
        server.interrupt()
        self.ends(server)

    def bench_server(self, *options, **more) -> harness.Program:
        server = self.start(harness.BIN / "framewire-bench", "--listen", "127.0.0.1:0", *options, **more)
        port = server.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        server.port, server.address = int(port), f"127.0.0.1:{port}"
        return server

    def test_plain_sockets_beside_a_server_that_was_started(self):
        """With a separate server the clocks may differ: streams have no latency, latency rows half a round trip."""
        with self.file("server").open("w+b") as said:
            server = self.bench_server(stdout=said)
            rows = json.loads(self.bench(server.address, "--message-bytes", "64,1M", "--count", "50", "--json",
                                         "--touch"))["results"]
            sockets = [row for row in rows if row["transport"] == "socket"]
            self.assertEqual([(row["operation"], row["count"]) for row in sockets],
                             [("stream", 50)] * 2 + [("latency", 50)] * 2)
            for row in sockets:
                # Each side uses its own clock and its own start.
                self.assertTrue(row["server_seconds"] > 0 and row["client_seconds"] > 0, row)
                latency = row["latency_us"]
                self.assertTrue(latency["p50"] is None if row["operation"] == "stream"
                                else 0 < latency["p50"] <= latency["p99"] <= latency["max"])
            server.interrupt()
            self.ends(server)
        self.assertEqual(len(re.findall(r"^socket +50 messages of (64|1048576) bytes in .* [kMG]?B/s$",
                                        self.file("server").read_text(), re.M)), 4)

    @unittest.skipIf(harness.IS_SANITIZED, "sanitizers look for leaks by ptrace, which is strace's then")
    def test_plain_sockets_take_one_call_a_message_at_either_end(self):
        """The reference makes no more system calls than a careful user would."""
        count, record = 300, self.file("calls")
        moves = ("read", "write", "readv", "writev", "sendto", "sendmsg", "recvfrom", "recvmsg")
        for operation, calls in (("stream", 2), ("latency", 4)):  # an answer of one byte adds a call on each side
            with self.subTest(operation):
                self.ends(self.start(harness.require_tool("strace"), "-f", "-qq", "-e", "trace=" + ",".join(moves),
                                     "-e", "signal=none", "-o", record, harness.BIN / "framewire-bench",
                                     "--transport", "socket", "--operation", operation, "--message-bytes", "4k",
                                     "--count", count))
                made = re.findall(r"^\d+ +(?:sendmsg|recvmsg|sendto|recvfrom|readv|writev)\(", record.read_text(), re.M)
                self.assertGreaterEqual(len(made), calls * count)
                # 20: calls of the warm-up and of the end, and calls that were restarted.
                self.assertLessEqual(len(made), calls * count + 20)

    def test_plain_sockets_that_a_server_does_not_allow(self):
        key = self.file("key")
        self.ends(self.start(harness.BIN / "framewire", "key", "--file", key))
        for options in (("--transport", "local"), ("--encrypt",)):
            with self.subTest(options):
                server = self.bench_server(*options, "--key", key)
                small = (server.address, "--message-bytes", "64", "--count", "5", "--key", key, "--json")
                self.bench(*small, "--transport", "socket", status=harness.REFUSED)
                (line,) = self.program.lines
                self.assertRegex(line, "^framewire-bench: .*takes no plain sockets: its --transport or --encrypt")
                if options == ("--encrypt",):
                    rows = json.loads(self.bench(*small))["results"]
                    self.assertEqual({row["transport"] for row in rows}, {"tcp"}, "what it does allow")
                    line = self.program.lines[0]
                    self.assertRegex(line, "^framewire-bench: rows are left out from socket stream of 64 bytes on, "
                                           "there is no socket: ")
                server.interrupt()
                self.ends(server)

    def test_plain_sockets_whose_server_goes(self):
        gone = "the bench server|the plain-socket server left|the peer|closed the connection"
        for fault, wanted in ((signal.SIGKILL, gone),
                              (signal.SIGSTOP, "has not taken a message within 10 s|does not answer")):
            with self.subTest(fault.name):
                server = self.bench_server("--verbose")
                client = self.start(harness.BIN / "framewire-bench", server.address, "--transport", "socket",
                                    "--message-bytes", "1M", "--duration", "60s", "--operation", "stream",
                                    "--verbose", stdout=subprocess.DEVNULL)
                harness.wait_until(lambda: harness.payload_moves_to(server.port), "the row's messages")
                server.process.send_signal(fault)
                self.ends(client, harness.LOST)
                client.wait_line(f"^framewire-bench: .*({wanted})")
                server.kill()

    def test_plain_sockets_end_with_the_interrupted_end(self):
        for victim in ("client", "server"):
            with self.subTest(victim):
                server = self.bench_server("--verbose")
                client = self.start(harness.BIN / "framewire-bench", server.address, "--transport", "socket",
                                    "--message-bytes", "1M", "--duration", "60s", "--operation", "stream",
                                    "--verbose", stdout=subprocess.DEVNULL)
                harness.wait_until(lambda: harness.payload_moves_to(server.port), "the row's messages")
                (client if victim == "client" else server).interrupt()
                self.ends(client, harness.OK if victim == "client" else harness.LOST)
                if victim == "client":
                    server.wait_line("a client's row ended early")
                    server.interrupt()
                self.ends(server)

    def server_on(self, port: int, *options):
        server = self.start(harness.BIN / "framewire-bench", "--listen", f"127.0.0.1:{port}", *options,
                            stdout=subprocess.DEVNULL)
        server.wait_line("^waiting for a sender on ")
        return server

    def check_directions(self, rows, direction: str):
        self.assertEqual({row["direction"] for row in rows}, {direction})

    def test_in_reverse(self):
        rows = json.loads(self.bench("--reverse", "--message-bytes", "64,1M", "--count", "100", "--json"))["results"]
        self.assertEqual(len(rows), 2 * 2 * len(HERE))
        self.check_rows(rows, HERE, 100)
        self.check_directions(rows, "reverse")
        few = ("--transport", "tcp", "--message-bytes", "64", "--count", "5")
        self.assertIn(" rev ", self.bench("--reverse", *few, "--spin", "--touch"))
        self.check_directions(json.loads(self.bench(*few, "--json"))["results"], "forward")

    def test_both_ways_in_turn_with_one_server(self):
        port = harness.free_port()
        server = self.server_on(port)
        for _ in range(3):
            for direction in ((), ("--reverse",)):
                rows = json.loads(self.bench(f"127.0.0.1:{port}", *direction, "--message-bytes", "64k", "--count", "20",
                                             "--json"))["results"]
                self.assertEqual({row["transport"] for row in rows}, THERE if direction else THERE | {"socket"})
                self.check_rows([row for row in rows if row["transport"] in THERE], THERE, 20)
        rows = json.loads(self.bench(f"127.0.0.1:{port}", "--reverse", "--message-bytes", "64", "--duration", "100ms",
                                     "--operation", "stream", "--json"))["results"]
        self.assertGreater(rows[0]["count"], 1)
        server.interrupt()
        self.ends(server)
        self.assertEqual(len(server.lines), 1, server.text)

    def test_in_reverse_from_a_server_that_ends(self):
        for end, transport in (("kill", "tcp"), ("kill", "local"), ("interrupt", "tcp"), ("interrupt", "local")):
            with self.subTest(f"{end} {transport}"):
                port = harness.free_port()
                server = self.server_on(port)
                descriptors = server.descriptors()
                client = self.start(harness.BIN / "framewire-bench", f"127.0.0.1:{port}", "--transport", transport,
                                    "--message-bytes", "1M", "--duration", "60", "--reverse", stdout=subprocess.DEVNULL)
                harness.wait_until(lambda: server.descriptors() > descriptors + 4, "the session")
                getattr(server, end)()
                self.ends(client, harness.LOST)
                server.wait_end()

    def test_in_reverse_to_a_client_that_is_killed(self):
        port = harness.free_port()
        server = self.server_on(port)
        descriptors = server.descriptors()
        client = self.start(harness.BIN / "framewire-bench", f"127.0.0.1:{port}", "--message-bytes", "1M",
                            "--duration", "60", "--reverse")
        harness.wait_until(lambda: server.descriptors() > descriptors + 4, "the session")
        client.kill()
        server.wait_line("a client's row ended early")
        rows = json.loads(self.bench(f"127.0.0.1:{port}", "--reverse", "--message-bytes", "64", "--count", "5",
                                     "--json"))["results"]
        self.check_rows(rows, THERE, 5)
        server.interrupt()
        self.ends(server)

    def test_in_reverse_from_a_server_that_cannot(self):
        """A server of an older release, and one without that link."""
        port = harness.free_port()
        old = socket.socket(socket.AF_UNIX)
        self.addCleanup(old.close)
        old.bind(f"\0framewire-{os.geteuid()}-{port}")
        old.listen()

        def message(words) -> bytes:
            body = json.dumps(words).encode()
            return struct.pack("<I", len(body)) + body

        def serve():
            connection, _ = old.accept()
            with connection:
                hello = {"type": "hello", "role": "viewer", "program": "framewire-bench 0", "versions": [1]}
                refused = {"type": "refused", "text": "the peer said 'reverse' where 'row' was expected"}
                connection.sendall(b"FWREPL01" + message({"type": "accepted"}) + message(hello) + message(refused))
                while connection.recv(65536):
                    pass

        threading.Thread(target=serve, daemon=True).start()
        self.bench(f"127.0.0.1:{port}", "--reverse", status=harness.REFUSED)
        (line,) = self.program.lines
        self.assertRegex(line, "^framewire-bench: .*older release.*update it, or leave --reverse out")
        port = harness.free_port()
        server = self.server_on(port, "--transport", "local")
        self.bench(f"127.0.0.1:{port}", "--reverse", "--transport", "tcp", status=harness.REFUSED)
        (line,) = self.program.lines
        self.assertRegex(line, "^framewire-bench: .*tcp is not offered")
        server.interrupt()
        self.ends(server)
    def test_a_server_whose_output_is_full(self):
        port = harness.free_port()
        with open("/dev/full", "wb") as full:
            server = self.start(harness.BIN / "framewire-bench", "--listen", f"127.0.0.1:{port}", stdout=full)
        server.wait_line("^waiting for a sender on ")
        self.bench(f"127.0.0.1:{port}", "--transport", "tcp", "--message-bytes", "64", "--count", "5")
        server.interrupt()
        self.ends(server, harness.FAILED)
        # The client may have dialled once more just before it finished.
        self.one_message(server, "cannot write to standard output: (No space left|what was written before)",
                         beside="warning: refused a connection")

    def test_a_server_that_is_killed(self):
        for transport in ("tcp", "local"):
            port = harness.free_port()
            server = self.start(harness.BIN / "framewire-bench", "--listen", f"127.0.0.1:{port}",
                                stdout=subprocess.DEVNULL)
            server.wait_line("^waiting for a sender on ")
            client = self.start(harness.BIN / "framewire-bench", f"127.0.0.1:{port}", "--transport", transport,
                                "--message-bytes", "1M", "--duration", "60", "--verbose", stdout=subprocess.DEVNULL)
            client.wait_line("transport=")
            server.kill()
            self.ends(client, harness.LOST)

    def in_its_second_row(self, *where):
        """Returns a client that has finished a short first row. Its second row would take minutes."""
        stdout = self.file("stdout").open("w+b")
        self.addCleanup(stdout.close)
        client = self.start(harness.BIN / "framewire-bench", *where, "--transport", "tcp", "--operation", "stream",
                            "--message-bytes", "64,33177600", "--count", "30000", "--verbose", "--json", stdout=stdout)
        row = client.wait_line("tcp stream 33177600").string
        client.wait_line("transport=", after=client.lines.index(row))
        return client

    def check_first_row(self):
        rows = json.loads(self.file("stdout").read_text())["results"]
        self.assertEqual([(row["message_bytes"], row["count"]) for row in rows], [(64, 30000)])

    def test_a_server_that_is_killed_leaves_the_finished_rows(self):
        port = harness.free_port()
        server = self.start(harness.BIN / "framewire-bench", "--listen", f"127.0.0.1:{port}", stdout=subprocess.DEVNULL)
        server.wait_line("^waiting for a sender on ")
        client = self.in_its_second_row(f"127.0.0.1:{port}")
        server.kill()
        self.ends(client, harness.LOST)
        self.one_message(client)
        self.check_first_row()

    def test_interrupted_it_prints_the_finished_rows(self):
        client = self.in_its_second_row()
        for process in client.family():  # as a terminal does: to every process of the foreground
            os.kill(process, signal.SIGINT)
        self.ends(client, harness.OK)
        self.one_message(client, "interrupted; 1 of 2 rows")
        harness.wait_until(lambda: client.family() == [], "its server to go with it")
        self.check_first_row()

    def test_interrupted_over_every_transport(self):
        for transport, *more in (("socket",), ("local",), ("tcp",), ("local", "--reverse"), ("tcp", "--reverse")):
            with self.subTest(" ".join((transport, *more))):
                client = self.start(harness.BIN / "framewire-bench", "--transport", transport, *more,
                                    "--message-bytes", "1M", "--duration", "60s", "--verbose",
                                    stdout=subprocess.DEVNULL)
                client.wait_line(f"{transport} stream")
                client.interrupt()
                self.ends(client, harness.OK)
                self.one_message(client, "interrupted; 0 of 2 rows")

    def test_nobody_there(self):
        """The error states the cause: an unknown name at once, otherwise the result of the last attempt."""
        self.bench("nosuchhost.invalid", "--insecure", status=harness.FAILED)
        (line,) = self.program.lines
        self.assertRegex(line, "^framewire-bench: .*'nosuchhost.invalid' is not known")
        port = harness.free_port()
        for transport in ("tcp", "local"):
            self.bench(f"127.0.0.1:{port}", "--transport", transport, status=harness.LOST)
            (line,) = self.program.lines
            self.assertRegex(line, f"^framewire-bench: nothing listens at 127.0.0.1:{port}; "
                                   f"start a server there with framewire bench --listen .*:{port}'$")

    @unittest.skipIf(pathlib.Path("/sys/class/infiniband").exists(), "this machine has RDMA devices")
    def test_no_rdma_device(self):
        for transport in ("rdma", "verbs"):
            self.bench("--transport", transport, status=harness.FAILED)
            (line,) = self.program.lines
            self.assertRegex(line, "^framewire-bench: .*no RDMA device.*doctor")

    def test_a_socket_whose_other_end_stands_still(self):
        client = self.start(harness.BIN / "framewire-bench", "--transport", "socket", "--message-bytes", "1M",
                            "--duration", "60s", "--operation", "stream", stdout=subprocess.DEVNULL)

        def receiver() -> list[int]:
            return [pid for pid in client.family()
                    if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "socket-server"]

        harness.wait_until(receiver, "the socket's receiver")
        os.kill(*receiver(), signal.SIGSTOP)
        self.ends(client, harness.LOST)
        self.one_message(client, "has not taken a message within 10 s")
        harness.wait_until(lambda: client.family() == [], "all it started to go with it")

    def test_count_and_time_end_a_row(self):
        for more, low, high in ((("--count", "30", "--duration", "60s"), 30, 30),
                                (("--count", "1000000000", "--duration", "100ms"), 31, 10**9 - 1)):
            rows = json.loads(self.bench("--transport", "tcp", "--operation", "stream", "--message-bytes", "64", *more,
                                         "--json"))["results"]
            self.assertEqual(len(rows), 1)
            self.assertTrue(low <= rows[0]["count"] <= high, rows)

    def test_bad_options(self):
        for options, status, wanted in [
            (["--message-bytes", "0"], harness.USAGE, ["--message-bytes", "'0'"]),
            (["--message-bytes", "64,,4k"], harness.USAGE, ["--message-bytes"]),
            (["--message-bytes", "2G"], harness.USAGE, ["--message-bytes", "'2G'", "1G"]),
            (["--message-bytes", "many"], harness.USAGE, ["--message-bytes", "'many'"]),
            (["--count", "0"], harness.USAGE, ["--count", "'0'"]),
            (["--duration", "x"], harness.USAGE, ["--duration", "'x'"]),
            (["--transport", "pigeon"], harness.USAGE, ["--transport", "'pigeon'", "verbs"]),
            (["--operation", "steal"], harness.USAGE, ["--operation", "'steal'", "write_imm"]),
            (["--operation", "read", "--transport", "tcp"], harness.USAGE, ["--operation", "verbs"]),
            (["--reverse", "--transport", "verbs"], harness.USAGE, ["--reverse", "'verbs'", "read"]),
            (["--reverse", "--transport", "socket"], harness.USAGE, ["--reverse", "'socket'"]),
            (["127.0.0.1:1", "--insecure", "--reverse"], harness.LOST, ["127.0.0.1:1", "--listen"]),
            (["--rate", "x"], harness.USAGE, ["--rate", "'x'"]),
            (["--listen", "127.0.0.1:0", "localhost"], harness.USAGE, ["--listen", "'localhost'"]),
            (["--no-such-option"], harness.USAGE, ["--no-such-option", "--help"]),
            (["--key", "/no/such/key"], harness.FAILED, ["/no/such/key"]),
        ]:
            with self.subTest(" ".join(options)):
                self.bench(*options, status=status)
                line = self.program.lines[-1]
                self.assertTrue(line.startswith("framewire-bench: "), self.program.text)
                for pattern in wanted:
                    self.assertRegex(line, pattern)
                self.assertEqual(len(self.program.lines), 1, self.program.text)


if __name__ == "__main__":
    harness.main()
