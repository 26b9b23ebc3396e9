"""Starts framewire bench for the tests."""
import harness


class BenchPrograms(harness.EndToEnd):
    def bench(self, *options, status=harness.OK) -> str:
        with self.file("stdout").open("w+b") as stdout:
            program = self.start(harness.BIN / "framewire", "bench", *options, stdout=stdout)
            self.ends(program, status)
            harness.wait_until(lambda: program.family() == [], "its server to go with it")
            self.program = program
        return self.file("stdout").read_text()
