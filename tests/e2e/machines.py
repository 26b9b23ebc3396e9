"""Two machines for a test: two network namespaces with a virtual cable between them."""
import os
import subprocess
import sys

import harness

ADDRESSES = ("10.77.0.1", "10.77.0.2")
WHY_NOT = "this machine allows no network namespaces here: neither root nor unshare -rn"


def are_possible() -> bool:
    return subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True,
                          check=False).returncode == 0


class Machines(harness.EndToEnd):
    """`machines`, by number or name: namespaces from make_machine()."""

    def make_machine(self) -> subprocess.Popen:
        """Starts a process that holds a new network namespace until its stdin ends."""
        holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec cat"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.communicate)
        self.assertEqual(holder.stdout.readline(), b"up\n")
        return holder

    def within(self, machine) -> list[str]:
        return ["nsenter", "-t", str(self.machines[machine].pid), "-n"]

    def on(self, machine, *command):
        subprocess.run([*self.within(machine), *command], check=True, timeout=harness.WATCHDOG_S)


class TwoMachines(Machines):
    def setUp(self):
        super().setUp()
        self.machines = [self.make_machine(), self.make_machine()]
        subprocess.run(["ip", "link", "add", "fw0", "netns", str(self.machines[0].pid), "type", "veth",
                        "peer", "name", "fw0", "netns", str(self.machines[1].pid)], check=True)
        for machine, address in enumerate(ADDRESSES):
            self.on(machine, "ip", "address", "add", f"{address}/24", "dev", "fw0")
            self.on(machine, "ip", "link", "set", "fw0", "up")

    def make_key(self, name: str):
        self.ends(self.start(harness.BIN / "framewire", "key", "--file", self.file(name)))
        return self.file(name)


def main():
    """Runs the tests as root of a new user namespace, if the machine allows that."""
    if os.geteuid() != 0 and "FRAMEWIRE_UNSHARED" not in os.environ:
        if subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0:
            os.environ["FRAMEWIRE_UNSHARED"] = "1"
            os.execvp("unshare", ["unshare", "-rn", sys.executable, *sys.argv])
    harness.main()
