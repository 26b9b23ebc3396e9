"""Compares framewire doctor's RDMA findings with the results of framewire bench in typical broken setups."""
import json
import subprocess

import lab
from lab import harness

DEVICE = "v0"
VLAN = "v0.5"
# Like a container that has the device files but not the host's network.
OTHER_NETWORK = ("unshare", "--net", "--mount", "sh", "-c",
                 'mount -t sysfs sysfs /sys && ip link set lo up && exec "$@"', "sh")
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


def ip(*arguments: str):
    subprocess.run(["ip", *arguments], check=True)


class Doctor(lab.RdmaTest):
    def setUp(self):
        super().setUp()
        for folder in (self.folder, self.home):
            folder.chmod(0o777)

    def addresses_of_device(self) -> list:
        said = subprocess.run(["ip", "-json", "address", "show", "dev", DEVICE], capture_output=True, text=True,
                              check=True).stdout
        return [f"{one['local']}/{one['prefixlen']}" for one in json.loads(said)[0]["addr_info"]]

    def without_addresses(self):
        """Removes all addresses of the RDMA device's interface, and restores them at the end."""
        for address in self.addresses_of_device():
            self.addCleanup(ip, "address", "replace", address, "dev", DEVICE)
        ip("address", "flush", "dev", DEVICE)

    def checked(self, *prefix) -> dict:
        """Runs bench, then returns doctor's report with its findings by name."""
        program = self.start(*prefix, harness.BIN / "framewire-bench", "--transport", "rdma", "--operation", "stream",
                             "--message-bytes", "1M", "--count", "3")
        works = program.wait_end() == harness.OK
        output = self.file("doctor.json")
        with output.open("wb") as stdout:
            doctor = self.start(*prefix, harness.BIN / "framewire-doctor", "--transport", "rdma",
                                "--json", stdout=stdout)
            status = doctor.wait_end()
        report = json.loads(output.read_text())
        names = {finding["name"]: finding for finding in report["findings"]}
        said = f"bench: {program.text}\ndoctor: {names['rdma']}\n{names.get('rxe0 port 1')}"
        self.assertEqual(works, status == harness.OK, said)
        self.assertEqual(works, report["works"]["rdma"], said)
        return {"works": works} | names

    def test_a_machine_where_all_is_well(self):
        checked = self.checked()
        self.assertTrue(checked["works"])
        self.assertIn(lab.ADDRESS, checked["rdma"]["value"])

    def test_a_network_that_is_not_the_devices(self):
        checked = self.checked(*OTHER_NETWORK)
        self.assertFalse(checked["works"])
        self.assertIn("not in this process's network", checked["rdma"]["value"])
        self.assertIn("--network=host", checked["rxe0 port 1"]["fix"][0])

    def test_an_address_on_a_vlan(self):
        subprocess.run(["modprobe", "8021q"], check=True)
        self.without_addresses()
        ip("link", "add", "link", DEVICE, "name", VLAN, "type", "vlan", "id", "5")
        self.addCleanup(ip, "link", "delete", VLAN)
        ip("address", "add", "10.78.0.1/24", "dev", VLAN)
        ip("link", "set", VLAN, "up")
        checked = self.checked()
        self.assertTrue(checked["works"])
        self.assertIn("10.78.0.1", checked["rdma"]["value"])
        self.assertIn(VLAN, checked["rxe0 port 1"]["value"])

    def test_no_address(self):
        self.without_addresses()
        checked = self.checked()
        self.assertFalse(checked["works"])
        self.assertEqual(checked["rxe0 port 1"]["fix"], [f"sudo ip address add 192.168.77.1/24 dev {DEVICE}"])

    def test_an_address_of_the_link_alone(self):
        self.without_addresses()
        ip("address", "add", "fe80::77/64", "dev", DEVICE)
        self.addCleanup(ip, "address", "del", "fe80::77/64", "dev", DEVICE)
        checked = self.checked()
        self.assertTrue(checked["works"])
        self.assertEqual(checked["rxe0 port 1"]["level"], "note")
        self.assertIn("fe80::77%eth0", checked["rxe0 port 1"]["text"])

    def test_a_limit_of_locked_memory_that_is_too_low(self):
        checked = self.checked(*NOBODY, "prlimit", f"--memlock={1 << 20}")
        self.assertFalse(checked["works"])
        self.assertEqual(checked["memlock"]["level"], "problem")


if __name__ == "__main__":
    harness.main()
