"""framewire doctor reports what this machine has. The tests check what holds on every machine."""
import json
import os
import pty

import harness

LEVELS = {"ok", "note", "warning", "problem"}
KEYS = {"version", "transport", "is_ready", "works", "findings", "rdma_devices", "rdma_modules", "rdma_files", "memory",
        "network", "gpu", "opengl", "system"}


class Doctor(harness.EndToEnd):
    def doctor(self, *options, status=harness.OK) -> str:
        with self.file("stdout").open("wb") as stdout:
            program = self.start(harness.BIN / "framewire", "doctor", *options, stdout=stdout)
            self.ends(program, status)
        return self.file("stdout").read_text(encoding="utf-8")

    def findings(self, *options, status=harness.OK) -> dict:
        report = json.loads(self.doctor("--json", *options, status=status))
        self.assertEqual(set(report), KEYS)
        for finding in report["findings"]:
            self.assertIn(finding["level"], LEVELS)
        self.report = report
        return {finding["name"]: finding for finding in report["findings"]}

    def test_this_machine_can_send_and_view(self):
        text = self.doctor()
        self.assertIn("Ready to send and view by local, tcp", text)
        self.assertNotIn("\x1b", text)
        for line in text.splitlines():
            self.assertTrue(len(line) <= 80 or line.lstrip().startswith("$ "), line)
        self.assertGreater(len(self.doctor("--verbose")), len(text))
        found = self.findings()
        self.assertTrue(self.report["is_ready"])
        self.assertTrue(self.report["works"]["local"] and self.report["works"]["tcp"])
        self.assertEqual(found["local"]["level"], "ok")
        self.assertTrue(self.report["opengl"]["is_asked"])
        self.assertEqual(found["key"]["level"], "note")
        self.assertEqual(found["key"]["fix"][0], "framewire key")

    def test_rdma_is_a_problem_only_where_it_is_asked_for_and_missing(self):
        self.findings()
        works = self.report["works"]["rdma"]
        found = self.findings("--transport", "rdma", status=harness.OK if works else harness.FAILED)
        self.assertEqual(found["rdma"]["level"], "ok" if works else "problem")

    def test_a_key_that_others_may_read_is_a_problem(self):
        self.ends(self.start(harness.BIN / "framewire", "key"))
        self.assertEqual(self.findings()["key"]["level"], "ok")
        key = self.home / ".config" / "framewire" / "key"
        key.chmod(0o644)
        found = self.findings(status=harness.FAILED)["key"]
        self.assertEqual(found["level"], "problem")
        self.assertEqual(found["fix"], [f"chmod 600 {key}"])

    def test_a_terminal_gets_colour_unless_it_wants_none(self):
        for environment, has_colour in ((self.environment(TERM="xterm"), True),
                                        (self.environment(TERM="xterm", NO_COLOR="1"), False)):
            reads, writes = pty.openpty()
            program = self.start(harness.BIN / "framewire-doctor", environment=environment, stdout=writes)
            os.close(writes)
            text = b""
            try:
                while part := os.read(reads, 65536):
                    text += part
            except OSError:  # EIO: the end of a pseudo-terminal
                pass
            os.close(reads)
            self.ends(program)
            self.assertEqual(b"\x1b[" in text, has_colour, text)


if __name__ == "__main__":
    harness.main()
