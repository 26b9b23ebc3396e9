"""framewire doctor HOST between two machines with RDMA: a bench server on 1, the doctor on 2.

In the lab only: scripts/rdma-lab --hosts 2.
"""
import json
import re
import subprocess
import sys

import lab
from lab import harness

PORT = 5290
FILTER = ("add table inet filter; add chain inet filter input {{ type filter hook input priority 0; }}; "
          "add rule inet filter input {} counter drop")


class Doctor(lab.Play):
    def serve(self, meanwhile=lambda: None):
        server = self.start(harness.BIN / "framewire-bench", "--listen", f"*:{PORT}", "--key", self.key)
        server.wait_line("^waiting for a sender on")
        self.meet("listens")
        meanwhile()
        self.meet("is examined")
        server.interrupt()
        self.ends(server)

    def examine(self, *options, status=harness.OK, has_key=True) -> dict:
        key = ("--key", self.key) if has_key else ()
        with self.file("report").open("wb") as stdout:
            self.ends(self.start(harness.BIN / "framewire-doctor", lab.PEER, *key, "--json", *options, stdout=stdout),
                      status, seconds=5 * harness.WATCHDOG_S)
        report = json.loads(self.file("report").read_text())
        self.assertEqual(report["is_ready"], status == harness.OK)
        host = report["host"]
        self.links = {link["transport"]: link for link in host["links"]}
        self.found = {}
        for finding in report["findings"]:
            if finding["area"].endswith(f"{lab.PEER}:{PORT}"):
                self.found.setdefault(finding["name"], finding)
        return host

    def check_speeds(self, link):
        self.assertTrue(link["works"], link)
        self.assertGreater(link["latency"]["p50_us"], 0)
        self.assertGreater(link["forward"]["gigabytes_per_second"], 0)
        self.assertGreater(link["reverse"]["gigabytes_per_second"], 0)

    def mend_there(self, finding: str):
        """The other machine runs the first command that the report gives for this."""
        self.report_error(self.found[finding]["fix"][0])
        self.meet("is mended")

    def mend_as_told(self):
        command = self.hear().split("   #")[0]
        self.assertRegex(command, "^sudo nft ")
        subprocess.run(command.split()[1:], check=True)
        self.meet("is mended")

    def drops(self, what: str) -> None:
        subprocess.run(["nft", FILTER.format(what)], check=True)
        self.addCleanup(subprocess.run, ["nft", "delete", "table", "inet", "filter"], check=True)

    def has_dropped(self):
        said = subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, r"counter packets [1-9]")

    def test_rdma_works_both_ways(self):
        def doctor():
            self.meet("listens")
            host = self.examine()
            self.assertEqual((host["auto"], host["authentication"], host["address"]), ("rdma", "psk", lab.PEER))
            self.assertFalse(host["is_this_machine"])
            self.assertEqual(set(self.links), {"local", "rdma", "tcp"})
            self.check_speeds(self.links["rdma"])
            self.check_speeds(self.links["tcp"])
            self.assertEqual(self.found["rdma"]["level"], "ok")
            with self.file("text").open("wb") as stdout:
                self.ends(self.start(harness.BIN / "framewire-doctor", lab.PEER, "--key", self.key, stdout=stdout))
            text = self.file("text").read_text()
            print(text, file=sys.stderr)
            self.assertRegex(text, r"✓ rdma +[0-9.]+ [MG]B/s there, [0-9.]+ [MG]B/s back")
            self.assertTrue(re.search(r"✓ auto +rdma; local: it needs the same user", text), text)
            self.meet("is examined")

        self.play(self.serve, doctor)

    def test_a_firewall_that_knows_no_rdma(self):
        def server():
            self.drops("udp dport 4791")
            self.serve(lambda: (self.mend_as_told(), self.has_dropped()))

        def doctor():
            self.meet("listens")
            host = self.examine()
            self.assertEqual(host["auto"], "tcp")
            self.check_speeds(self.links["tcp"])
            self.assertFalse(self.links["rdma"]["works"])
            self.assertEqual(self.found["rdma"]["level"], "warning")
            self.assertRegex(self.found["rdma"]["text"], "UDP port 4791")
            self.examine("--transport", "rdma", status=harness.FAILED)
            self.assertEqual(self.found["rdma"]["level"], "problem")
            self.mend_there("rdma")
            self.examine("--transport", "rdma")
            self.assertEqual(set(self.links), {"rdma"})
            self.check_speeds(self.links["rdma"])
            self.meet("is examined")

        self.play(server, doctor)

    def test_a_firewall_that_lets_nobody_in(self):
        def server():
            self.drops(f"tcp dport {PORT}")
            self.serve(lambda: (self.mend_as_told(), self.has_dropped()))

        def doctor():
            self.meet("listens")
            host = self.examine(status=harness.FAILED)
            self.assertEqual((host["fault"], host["links"]), ("silent", []))
            self.assertEqual(self.found["host"]["level"], "problem")
            self.mend_there("host")
            self.examine("--transport", "tcp")
            self.check_speeds(self.links["tcp"])
            self.meet("is examined")

        self.play(server, doctor)

    def test_a_server_without_rdma(self):
        def server():
            server = self.start(harness.BIN / "framewire-bench", "--listen", f"*:{PORT}", "--key", self.key,
                                "--transport", "tcp")
            server.wait_line("^waiting for a sender on")
            self.meet("listens")
            self.meet("is examined")
            server.interrupt()
            self.ends(server)

        def doctor():
            self.meet("listens")
            self.assertEqual(self.examine()["auto"], "tcp")
            self.assertEqual(self.found["rdma"]["level"], "warning")
            self.examine("--transport", "rdma", status=harness.FAILED)
            self.assertIn("framewire doctor --transport rdma", self.found["rdma"]["fix"])
            self.assertEqual(self.examine(status=harness.FAILED, has_key=False)["fault"], "no_key_here")
            self.assertIn(f"framewire key --export | ssh {lab.PEER} framewire key --import -",
                          self.found["authentication"]["fix"])
            self.meet("is examined")

        self.play(server, doctor)


if __name__ == "__main__":
    sys.exit(harness.main())
