"""framewire bench on real verbs: compares every raw operation with the links, and tests hostile and dying peers."""
import json
import os
import pathlib
import re
import socket
import struct
import subprocess

import lab
from lab import harness

VERBS = ("send", "write", "write_imm", "read", "latency")
GREETING = b"FWCTRL01\r\n\r\n"
HELLO = {"type": "hello", "role": "bench", "program": "unknown", "versions": [1]}
ROW = {"type": "row", "operation": "write", "message_bytes": 4096, "slots": 4, "wait": "block", "touch": False}


class Bench(lab.RdmaTest):
    def bench(self, *options, status=harness.OK, environment=None) -> str:
        with self.file("stdout").open("w+b") as stdout:
            self.client = self.start(harness.BIN / "framewire-bench", *options, stdout=stdout, environment=environment)
            self.ends(self.client, status)
            harness.wait_until(lambda: self.client.family() == [], "its server to go with it")
        return self.file("stdout").read_text()

    def rows(self, *options, **more) -> list:
        return json.loads(self.bench(*options, "--json", **more))["results"]

    def server(self, *options) -> harness.Program:
        server = self.start(harness.BIN / "framewire-bench", "--listen", "127.0.0.1:0", *options,
                            stdout=subprocess.DEVNULL)
        server.port = int(server.wait_line(r"^waiting for a sender on .*:(\d+)").group(1))
        server.address = f"127.0.0.1:{server.port}"
        return server

    def end_server(self, server):
        server.interrupt()
        self.ends(server, seconds=10 * harness.TIMEOUT_SCALE)

    def check_verbs(self, rows, sizes, count: int):
        self.assertEqual({(row["operation"], row["message_bytes"]) for row in rows},
                         {(o, s) for o in VERBS for s in sizes})
        for row in rows:
            self.assertEqual((row["transport"], row["count"]), ("verbs", count), row)
            self.assertGreater(row["client_seconds"], 0, row)
            self.assertEqual(row["seconds"], row["client_seconds"], row)
            self.assertAlmostEqual(row["messages_per_second"] * row["seconds"], count, delta=0.01 * count)
            latency = row["latency_us"]
            if row["operation"] == "latency":
                self.assertLessEqual(latency["p50"], latency["p99"], row)
                self.assertLessEqual(latency["p99"], latency["p99.9"], row)
                self.assertLessEqual(latency["p99.9"], latency["max"], row)
                self.assertLessEqual(2e-6 * latency["p50"] * count / 2, row["seconds"],
                                     "half of a round trip, of at least half of them")
            else:
                self.assertIsNone(latency["p50"], row)

    # ---- what it measures

    def test_every_operation_and_size(self):
        """Messages shorter than a timestamp, of one cache line, of several, of several chunks, and above the device's
        longest message."""
        # An emulated device needs seconds for ten large messages.
        for sizes, count in (((1, 64, 4096), 7), (((1 << 20) + 1, 9 << 20), 3)):
            options = ("--transport", "verbs", "--message-bytes", ",".join(map(str, sizes)), "--count", str(count))
            for more in ((), ("--touch", "--spin", "--slots", "2"), ("--block", "--slots", "1")):
                with self.subTest(f"{sizes} bytes {' '.join(more)}"):
                    self.check_verbs(self.rows(*options, *more), sizes, count)

    def test_many_small_messages(self):
        """More messages than any queue has entries; they go round every ring several times."""
        rows = self.rows("--transport", "verbs", "--message-bytes", "64,1000", "--count", "2000", "--touch")
        self.check_verbs(rows, (64, 1000), 2000)

    def test_time_ends_a_row_too(self):
        rows = self.rows("--transport", "verbs", "--message-bytes", "4k", "--count", "1000000000",
                         "--duration", "200ms")
        self.assertEqual({row["operation"] for row in rows}, set(VERBS))
        for row in rows:
            self.assertGreater(row["count"], 0)
            self.assertGreater(row["client_seconds"], 0.15)

    def test_a_given_rate(self):
        rows = self.rows("--operation", "latency", "--message-bytes", "64", "--count", "20", "--rate", "100")
        self.assertEqual({row["transport"] for row in rows}, {"socket", "local", "tcp", "rdma", "verbs"})
        for row in rows:
            # The client starts the schedule and the clock at the same moment.
            self.assertGreaterEqual(row["client_seconds"], 19 / 100, row)

    def test_long_messages_stand_until_they_are_checked(self):
        """Messages of several chunks, which reuse a few slots many times."""
        for more in ((), ("--spin",)):
            with self.subTest(" ".join(more)):
                (row,) = self.rows("--transport", "verbs", "--operation", "send", "--touch", "--message-bytes", "5M",
                                   "--slots", "2", "--count", "24", *more)
                self.assertEqual(row["count"], 24)

    def test_one_message_has_its_whole_way(self):
        rows = self.rows("--message-bytes", "1M", "--count", "1")
        for row in rows:
            self.assertEqual(row["count"], 1)
            self.assertGreater(row["seconds"], 0, row)
            self.assertGreater(row["server_seconds"], 0, row)
            if row["one_way_us"] is not None:
                self.assertGreaterEqual(row["seconds"], 0.97e-6 * row["one_way_us"]["max"], row)

    def test_interrupted(self):
        for transport, words in (("verbs", "verbs send"), ("rdma", "rdma stream")):
            with self.subTest(transport):
                client = self.start(harness.BIN / "framewire-bench", "--transport", transport, "--message-bytes", "64k",
                                    "--duration", "60", "--verbose", stdout=subprocess.DEVNULL)
                client.wait_line(words)
                client.interrupt()
                self.ends(client)
                self.one_message(client, "interrupted; 0 of ")

    def test_all_there_is_in_one_table(self):
        table = self.bench("--message-bytes", "64,64k", "--count", "50").splitlines()
        for words in ("cli ms", "srv ms", "msg/s", "MB/s"):
            self.assertIn(words, table[0])
        begun = {tuple(line.split()[:2]) for line in table[1:]}
        self.assertLessEqual({(link, "stream") for link in ("socket", "local", "tcp", "rdma")}
                             | {("verbs", what) for what in VERBS}, begun)

    def test_links_in_reverse(self):
        rows = self.rows("--reverse", "--message-bytes", "64,1M", "--count", "20")
        self.assertEqual({(row["transport"], row["operation"]) for row in rows},
                         {(link, what) for link in ("local", "tcp", "rdma") for what in ("stream", "latency")})
        self.assertEqual({(row["direction"], row["count"]) for row in rows}, {("reverse", 20)})
        for row in rows:
            self.assertEqual(row["latency_method"],
                             {"stream": "one_way", "latency": "half_round_trip"}[row["operation"]])
            self.assertGreater(row["latency_us"]["p50"], 0, row)

    # ---- two ends

    def test_a_server_and_its_clients_in_any_order(self):
        server = self.server()
        for transport, operations in (("verbs", "read,send"), ("tcp", "stream"), ("verbs", "latency,write"),
                                      ("rdma", "stream,latency"), ("verbs", "write_imm")):
            rows = self.rows(server.address, "--transport", transport, "--operation", operations,
                             "--message-bytes", "64,1M", "--count", "20")
            self.assertEqual([row["count"] for row in rows], [20] * 2 * len(operations.split(",")))
            self.assertEqual({row["transport"] for row in rows}, {transport})
        self.end_server(server)

    def test_between_two_machines_with_a_key(self):
        self.run_to_end(harness.BIN / "framewire-key")
        server = self.start(harness.BIN / "framewire-bench", "--listen", f"{lab.ADDRESS}:0",
                            "--key", self.home / ".config/framewire/key", stdout=subprocess.DEVNULL)
        port = server.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        to = f"{lab.ADDRESS}:{port}"
        self.check_verbs(self.rows(to, "--transport", "verbs", "--message-bytes", "4k", "--count", "10", "--key",
                                   self.home / ".config/framewire/key"), (4096,), 10)
        other = self.file("other-key")
        other.write_text("0" * 64 + "\n")
        other.chmod(0o600)
        self.bench(to, "--transport", "verbs", "--key", other, status=harness.REFUSED)
        self.end_server(server)

    def test_a_server_without_rdma_says_so(self):
        server = self.server("--transport", "tcp")
        self.bench(server.address, "--transport", "verbs", "--count", "1", status=harness.REFUSED)
        self.one_message(self.client, "takes no RDMA connections")
        rows = self.rows(server.address, "--count", "3", "--message-bytes", "64")  # verbs were not requested
        self.assertEqual({row["transport"] for row in rows}, {"socket", "tcp"})
        self.bench(server.address, "--transport", "rdma", "--reverse", "--count", "1", status=harness.REFUSED)
        self.one_message(self.client, "rdma: the sender has none")
        rows = self.rows(server.address, "--reverse", "--count", "3", "--message-bytes", "64")
        self.assertEqual({row["transport"] for row in rows}, {"tcp"})
        self.end_server(server)

    def test_only_a_bench_server_serves_them(self):
        viewer = self.view("--listen", "127.0.0.1:0")
        sender = self.send_on("pattern")  # while the viewer starts
        port = viewer.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        for at in (f"127.0.0.1:{port}", sender.address):
            self.bench(at, "--transport", "verbs", "--count", "1", status=harness.REFUSED)
            self.one_message(self.client, "bench.* have nothing for each other")
        for program in (viewer, sender):
            program.interrupt()
            self.ends(program)

    def test_messages_of_a_gpu_that_the_device_does_not_reach_come_in_host_memory(self):
        """The tests' libcuda has memory that is no DMA-BUF, so the device and its driver refuse it."""
        stand_in = harness.BIN.parent / "tests" / "cuda_stand_in"
        rows = self.rows("--transport", "rdma", "--memory", "cuda", "--message-bytes", "64,64k", "--count", "3",
                         environment=self.environment(LD_LIBRARY_PATH=str(stand_in)))
        self.assertEqual({(row["transport"], row["memory"]) for row in rows}, {("rdma", "host")})
        self.client.wait_line("warning: --memory is cuda, and messages over rdma came in host memory")

    def test_too_little_memory_to_lock_is_named(self):
        nobody = lab.nobody()
        for folder in (self.folder, self.home):
            folder.chmod(0o777)
        with self.file("stdout").open("w+b") as stdout:
            client = self.start(*nobody, "bash", "-c", 'ulimit -l 64 && exec "$0" "$@"',
                                harness.BIN / "framewire-bench", "--transport", "verbs", "--message-bytes", "8M",
                                "--count", "1", stdout=stdout)
            self.ends(client, harness.FAILED)
        self.assertRegex(client.text, "ulimit -l")
        # RDMA was not requested: every row that can run is measured, and every row that cannot is named.
        with self.file("stdout").open("w+b") as stdout:
            client = self.start(*nobody, "bash", "-c", 'ulimit -l 8192 && exec "$0" "$@"',
                                harness.BIN / "framewire-bench", "--message-bytes", "64,8M",
                                "--operation", "write,stream", "--count", "3", "--json", stdout=stdout)
            self.ends(client, harness.FAILED)
        rows = json.loads(self.file("stdout").read_text())["results"]
        self.assertEqual({(row["transport"], row["message_bytes"]) for row in rows},
                         {(transport, size) for transport in ("socket", "local", "tcp") for size in (64, 8 << 20)}
                         | {("rdma", 64), ("verbs", 64)})
        self.assertRegex(client.text, "framewire-bench: verbs write of 8388608 bytes is left out: .*ulimit -l")
        self.assertRegex(client.text, "framewire-bench: rdma stream of 8388608 bytes is left out: .*ulimit -l")

    # ---- hostile and dying peers

    @staticmethod
    def message(words) -> bytes:
        body = words if isinstance(words, bytes) else json.dumps(words).encode()
        return struct.pack("<I", len(body)) + body

    def greet(self, server, *messages) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.settimeout(harness.WATCHDOG_S)
        connection.connect(f"\0framewire-{os.geteuid()}-{server.port}")
        connection.sendall(GREETING + b"".join(self.message(one) for one in (HELLO, *messages)))
        return connection

    @staticmethod
    def everything_from(connection) -> bytes:
        said = b""
        try:
            while some := connection.recv(65536):
                said += some
        except ConnectionResetError:
            pass  # the peer closed with unread data
        connection.close()
        return said

    def test_garbage_requests(self):
        server = self.server()
        self.rows(server.address, "--transport", "verbs", "--message-bytes", "64", "--count", "1")
        memory_kb = server.memory_kb()
        for wrong, wanted in (({"operation": "steal"}, b"operation"), ({"operation": 7}, b"operation"),
                              ({"message_bytes": 0}, b"message_bytes"), ({"message_bytes": -1}, b"message_bytes"),
                              ({"message_bytes": 1 << 40}, b"message_bytes"),
                              ({"message_bytes": 1 << 30, "slots": 64}, b"too much"),
                              ({"slots": 1 << 31}, b"slots"), ({"slots": 1.5}, b"slots"),
                              ({"wait": "for ever"}, b"wait"), ({"touch": "yes"}, b"touch"), ({"type": "bye"}, b"bye")):
            with self.subTest(str(wrong)):
                said = self.everything_from(self.greet(server, ROW | wrong))
                self.assertIn(b'"refused"', said)
                self.assertIn(wanted, said)
        for noise in (b"[" * 5000, b"\xff\xfe", b"{}", b'{"type":7}'):
            with self.subTest(noise[:10]):
                self.everything_from(self.greet(server, noise))
        self.assertLess(server.memory_kb() - memory_kb, 16 * 1024)
        self.check_verbs(self.rows(server.address, "--transport", "verbs", "--message-bytes", "64", "--count", "5"),
                         (64,), 5)
        self.end_server(server)

    def test_a_client_that_does_not_come_or_says_something_else(self):
        server = self.server()
        for then in ({"type": "end", "count": 3}, {"type": "terms", "address": 0, "key": 0, "chunk_bytes": 0},
                     b"noise"):
            with self.subTest(str(then)):
                self.assertNotIn(b'"result"', self.everything_from(self.greet(server, ROW, then)))
        gone = self.greet(server, ROW)
        self.assertIn(b"FWREPL01", gone.recv(8, socket.MSG_WAITALL))
        gone.close()
        self.check_verbs(self.rows(server.address, "--transport", "verbs", "--message-bytes", "64", "--count", "5"),
                         (64,), 5)
        self.end_server(server)

    def test_one_client_at_a_time(self):
        server = self.server()
        first = self.busy_client(server, "write")
        self.bench(server.address, "--transport", "verbs", "--count", "1", status=harness.REFUSED)
        self.one_message(self.client, "busy")
        first.kill()
        server.wait_line("a client's row ended early: ")
        self.rows(server.address, "--transport", "verbs", "--message-bytes", "64", "--count", "1")
        self.end_server(server)

    def busy_client(self, server, operation: str, *options) -> harness.Program:
        """Starts a client that is measuring: its memory regions exist."""
        before = lab.held("mr")
        client = self.start(harness.BIN / "framewire-bench", server.address, "--transport", "verbs",
                            "--operation", operation, "--message-bytes", "1M", "--duration", "60", *options,
                            stdout=subprocess.DEVNULL)
        harness.wait_until(lambda: lab.held("mr") >= before + 2, "both ends to have their memory registered")
        return client

    def test_a_server_that_is_killed(self):
        for operation, wait in (("send", "--spin"), ("write", "--block"), ("write_imm", "--block"), ("read", "--spin"),
                                ("latency", "--block")):
            with self.subTest(operation):
                server = self.server()
                client = self.busy_client(server, operation, wait)
                server.kill()
                self.ends(client, harness.LOST, seconds=10 * harness.TIMEOUT_SCALE)
                self.one_message(client)

    @staticmethod
    def times_asleep(program: harness.Program) -> int:
        """The voluntary context switches of all threads."""
        said = "".join((thread / "status").read_text()
                       for thread in pathlib.Path(f"/proc/{program.pid}/task").iterdir())
        return sum(map(int, re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", said, re.MULTILINE)))

    def test_a_server_that_stands_still(self):
        """The device and the kernel keep acknowledging for a stopped server, so only missing answers reveal it."""
        server = self.server()
        client = self.busy_client(server, "latency", "--block")
        begun = self.times_asleep(server)
        harness.wait_until(lambda: self.times_asleep(server) > begun + 50, "pings to go")
        server.pause()
        self.ends(client, harness.LOST, seconds=20 * harness.TIMEOUT_SCALE)
        self.one_message(client, "was not answered within 1[01] s")
        server.kill()

    def test_a_client_that_is_killed(self):
        server = self.server()
        for operation, wait in (("send", "--spin"), ("write", "--block"), ("write_imm", "--block"), ("read", "--block"),
                                ("latency", "--spin")):
            with self.subTest(operation):
                said = len(server.lines)
                self.busy_client(server, operation, wait).kill()
                server.wait_line("a client's row ended early: ", seconds=10 * harness.TIMEOUT_SCALE, after=said)
        self.check_verbs(self.rows(server.address, "--transport", "verbs", "--message-bytes", "64", "--count", "5"),
                         (64,), 5)
        self.end_server(server)

    def test_a_server_that_is_interrupted(self):
        for operation, wait in (("send", "--spin"), ("read", "--block"), ("latency", "--spin")):
            with self.subTest(operation):
                server = self.server()
                client = self.busy_client(server, operation, wait)
                self.end_server(server)
                self.ends(client, harness.LOST, seconds=10 * harness.TIMEOUT_SCALE)
                self.one_message(client)


if __name__ == "__main__":
    harness.main()
