"""framewire doctor HOST tests the path to a bench server, with every fault on it. Speeds are not checked."""
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import threading

import harness

LINKS = {"transport", "works", "not_tried", "latency", "forward", "reverse"}
HAS_RDMA = pathlib.Path("/sys/class/infiniband").exists()


class DoctorHost(harness.EndToEnd):
    def server(self, *options, listen=None) -> str:
        port = harness.free_port()
        self.bench = self.start(harness.BIN / "framewire-bench", "--listen", listen or f"127.0.0.1:{port}", *options)
        port = self.bench.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        return f"127.0.0.1:{port}"

    def doctor(self, *options, status=harness.OK, program=None, seconds=3 * harness.WATCHDOG_S) -> str:
        with self.file("stdout").open("wb") as stdout:
            self.program = self.start(program or harness.BIN / "framewire-doctor", *options, stdout=stdout)
            self.ends(self.program, status, seconds)
        self.assertEqual(self.program.family(), [])
        return self.file("stdout").read_text(encoding="utf-8")

    def report(self, *options, **more) -> dict:
        report = json.loads(self.doctor("--json", *options, **more))
        self.found = {}
        for finding in report["findings"]:
            self.found.setdefault(finding["name"], finding)
        self.assertEqual(report["is_ready"], all(finding["level"] != "problem" for finding in report["findings"]))
        return report["host"]

    def in_the_way(self, fault: str, *options, finding="server", wanted=(), **more) -> dict:
        host = self.report(*options, status=harness.FAILED, **more)
        self.assertEqual(host["fault"], fault, host)
        self.assertEqual(host["links"], [])
        self.assertEqual(self.found[finding]["level"], "problem")
        fixes = "\n".join(self.found[finding]["fix"])
        for words in wanted:
            self.assertIn(words, fixes)
        return self.found[finding]

    # ---- no fault

    def test_a_server_on_this_machine(self):
        at = self.server()
        host = self.report(at)
        self.assertEqual((host["name"], host["port"]), ("127.0.0.1", int(at.split(":")[1])))
        self.assertTrue(host["is_this_machine"])
        self.assertEqual((host["authentication"], host["control"], host["auto"], host["fault"]),
                         ("user", "unix", "local", None))
        self.assertTrue(host["program"].startswith("framewire-bench "))
        self.assertGreater(host["round_trip_us"], 0)
        self.assertEqual([link["transport"] for link in host["links"]], ["local", "rdma", "tcp"])
        for link in host["links"]:
            self.assertEqual(set(link), LINKS)
            if link["transport"] != "rdma":
                self.assertTrue(link["works"])
                self.assertGreater(link["forward"]["gigabytes_per_second"], 0)
                self.assertGreater(link["reverse"]["gigabytes_per_second"], 0)
                self.assertGreater(link["latency"]["p50_us"], 0)
        self.assertEqual(self.found["auto"]["value"], "local")
        self.assertEqual(len([line for line in self.bench.lines if "warning" in line]), 0, self.bench.text)

    def test_a_person_reads_lines(self):
        at = self.server()
        text = self.doctor(at, "--transport", "tcp")
        self.assertIn(f"Links to {at}", text)
        self.assertRegex(text, r"✓ tcp +[0-9.]+ [MG]B/s there, [0-9.]+ [MG]B/s back, 64 bytes in ")
        self.assertIn("Ready to send to 127.0.0.1 and to view from there by tcp", text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(self.program.lines, [])
        for line in text.splitlines():
            self.assertTrue(len(line) <= 80 or line.lstrip().startswith("$ "), line)

    def test_a_key_names_and_ipv6(self):
        key = self.file("key")
        self.ends(self.start(harness.BIN / "framewire", "key", "--file", key))
        port = self.server("--key", key, listen="*:0").split(":")[1]
        for at in (f"localhost:{port}", *([f"[::1]:{port}"] if harness.has_ipv6() else [])):
            host = self.report(at, "--key", key, "--transport", "tcp", "--timeout", "4s")
            self.assertEqual((host["authentication"], host["control"]), ("psk", "tls1.3"))
            self.assertEqual([link["works"] for link in host["links"]], [True])
            self.assertEqual(host["auto"], None)

    def test_only_what_was_asked_for(self):
        at = self.server("--transport", "local")
        self.assertEqual([link["works"] for link in self.report(at, "--transport", "local")["links"]], [True])
        (tcp,) = self.report(at, "--transport", "tcp", status=harness.FAILED)["links"]
        self.assertIn("no transport in common", tcp["latency"]["trouble"])
        self.assertEqual(self.found["tcp"]["level"], "problem")
        host = self.report(at)
        self.assertEqual(host["auto"], "local")
        self.assertEqual(self.found["tcp"]["level"], "warning")
        if not HAS_RDMA:
            (rdma,) = self.report(at, "--transport", "rdma", status=harness.FAILED)["links"]
            self.assertEqual(rdma["not_tried"], "no RDMA device here")
            self.assertEqual(self.found["rdma"]["level"], "problem")

    # ---- no server, or another one

    def test_nobody_there(self):
        port = harness.free_port()
        self.in_the_way("nothing_listens", f"127.0.0.1:{port}", wanted=[f"framewire bench --listen :{port}"])
        self.in_the_way("unknown_name", "no-such-host.invalid", finding="host", wanted=["/etc/hosts"])
        text = self.doctor(f"127.0.0.1:{port}", status=harness.FAILED)
        self.assertIn(f"      $ framewire bench --listen :{port}\n", text)
        self.assertIn("Something is broken: 1 problem", text)

    def test_a_sender_there(self):
        sender = self.send_on("pattern:stamped", "--size", "64x36")
        server = self.in_the_way("sender", sender.address,
                                 wanted=[f"framewire doctor 127.0.0.1:{sender.port + 1}", "framewire bench --listen"])
        self.assertTrue(server["value"].startswith("framewire-send "))
        sender.interrupt()
        self.ends(sender)

    def test_a_viewer_there(self):
        viewer = self.view("--listen", "127.0.0.1:0")
        port = viewer.wait_line(r"^waiting for a sender on .*:(\d+)").group(1)
        self.in_the_way("viewer", f"127.0.0.1:{port}", wanted=["framewire bench --listen"])
        viewer.interrupt()
        self.ends(viewer)

    def unrecognized(self, says: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        connection.recv(4096)
                        connection.sendall(says)
                    except OSError:
                        pass

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def test_not_a_framewire(self):
        self.in_the_way("not_framewire", self.unrecognized(b"FWREPL01"), wanted=["framewire bench --listen :"])
        for says in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 4096):
            self.in_the_way("not_framewire", self.unrecognized(says),
                            "--insecure", wanted=["framewire doctor 127.0.0.1:"])
        self.assertIn(self.report(self.unrecognized(b""), "--insecure", status=harness.FAILED)["fault"],
                      ("other", "not_framewire"))

    def test_somebody_who_says_nothing(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.in_the_way("other", f"127.0.0.1:{listener.getsockname()[1]}",
                        "--insecure", wanted=["framewire bench --listen"])

    # ---- keys

    def test_keys_that_do_not_fit(self):
        keys = [self.file("one"), self.file("two")]
        for key in keys:
            self.ends(self.start(harness.BIN / "framewire", "key", "--file", key))
        at = self.server("--key", keys[0])
        self.assertIn("key", self.in_the_way("key_refused", at, "--key", keys[1], finding="authentication")["text"])
        self.in_the_way("key_refused", at, finding="authentication")
        self.in_the_way("bad_key_here", at, "--key", "/no/such/key", finding="authentication")
        keys[1].chmod(0o644)
        self.in_the_way("bad_key_here", at, "--key", keys[1], finding="authentication", wanted=[f"chmod 600 {keys[1]}"])

    # ---- measurements

    def beside(self, script: str) -> pathlib.Path:
        """A copy of framewire-doctor with `script` as its framewire-bench."""
        folder = self.file("programs")
        folder.mkdir(exist_ok=True)
        shutil.copy(harness.BIN / "framewire-doctor", folder)
        library = folder.parent / "lib"  # where a program looks for libframewire-core
        if not library.exists():
            library.symlink_to(harness.BIN.parent / "lib")
        bench = folder / "framewire-bench"
        bench.unlink(missing_ok=True)
        if script:
            bench.write_text(f"#!/bin/sh\n{script}\n")
            bench.chmod(0o755)
        return folder / "framewire-doctor"

    def test_garbage_from_bench(self):
        at = self.server()
        for script, wanted in (("echo nonsense", "no row"), ("head -c 3000 /dev/urandom", "no row"),
                               ("exit 0", "no row"), ("yes", "64 KiB"),
                               ("echo '{\"results\": [{}, 7]}'", "no row"), ("exit 5", "exit status 5"),
                               ("kill -SEGV $$", "signal 11"),
                               ("echo 'framewire-bench: it rains' >&2; exit 1", "it rains")):
            with self.subTest(script):
                host = self.report(at, "--transport", "tcp", program=self.beside(script), status=harness.FAILED)
                self.assertIn(wanted, host["links"][0]["latency"]["trouble"])
                self.assertIn(wanted, self.found["tcp"]["text"])
        self.in_the_way("no_bench_here", at, program=self.beside(""), finding="programs")

    def test_a_bench_that_hangs_is_ended(self):
        at = self.server()
        host = self.report(at, "--transport", "tcp", program=self.beside("exec sleep 1000"), status=harness.FAILED)
        self.assertIn("did not end within 20000 ms", host["links"][0]["latency"]["trouble"])

    @staticmethod
    def words(pid: int) -> bytes:
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return b""

    def measuring(self, at: str, **more) -> harness.Program:
        """Starts a doctor; returns when its framewire-bench measures a stream."""
        program = self.start(harness.BIN / "framewire-doctor", at, "--transport", "tcp", **more)

        harness.wait_until(lambda: any(b"framewire-bench" in self.words(pid) and b"stream" in self.words(pid)
                                       for pid in program.family()),
                           "its framewire-bench")
        return program

    def test_the_end_takes_bench_with_it(self):
        at = self.server()
        endless = self.beside("exec sleep 1000")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            program = self.start(endless, at, "--transport", "tcp")
            harness.wait_until(lambda: any(b"sleep" in self.words(pid) for pid in program.family()),
                               "its framewire-bench")
            program.signal(number)
            self.assertEqual(program.wait_end(), -number)
            harness.wait_until(lambda: program.family() == [], "its framewire-bench to go, too")

    def test_a_server_that_is_killed_meanwhile(self):
        at = self.server()
        with self.file("stdout").open("wb") as stdout:
            program = self.measuring(at, stdout=stdout)
            self.bench.kill()
            self.ends(program, harness.FAILED)
        text = self.file("stdout").read_text()
        self.assertIn("went away while it was measured", text)
        self.assertIn("framewire bench --listen", text)

    def test_a_terminal_sees_what_is_measured(self):
        at = self.server()
        reads, writes = pty.openpty()
        program = self.start(harness.BIN / "framewire-doctor", at, "--transport", "local", terminal=True, stdout=writes,
                             environment=self.environment(TERM="xterm"))
        os.close(writes)
        self.ends(program)
        os.close(reads)
        self.assertRegex(program.text, "measuring local: small messages")
        self.assertRegex(program.text, "measuring local: a burst back")


if __name__ == "__main__":
    harness.main()
