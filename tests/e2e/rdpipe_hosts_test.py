"""rdpipe between three hosts: home, where it runs, host1 and host2. Each is a network namespace with its own sshd.

All are on one switch.

Needs root or user namespaces. Without them the tests are skipped with a message.
"""
import json
import os
import subprocess
import unittest

import harness
import machines
import private_sshd
from pipelines import OWN_FAILURE, PipelineTest

NAMES = ("home", "host1", "host2")
NETWORK = "10.78.0."
ADDRESSES = {name: f"{NETWORK}{number}" for number, name in enumerate(NAMES, 1)}
SSH_PORT = 2222
SILENT_S = 15 * harness.TIMEOUT_SCALE  # longer than rdpipe takes to notice a silent host


@unittest.skipUnless(os.getuid() == 0 and machines.are_possible(),
                     "an sshd in network namespaces of its own needs root")
class PipeHosts(machines.Machines, PipelineTest):
    def setUp(self):
        super().setUp()
        self.machines = {name: self.make_machine() for name in (*NAMES, "switch")}
        self.on("switch", "ip", "link", "add", "br0", "type", "bridge")
        self.on("switch", "ip", "link", "set", "br0", "up")
        for name in NAMES:
            subprocess.run(["ip", "link", "add", "fw0", "netns", str(self.machines[name].pid), "type", "veth",
                            "peer", "name", name, "netns", str(self.machines["switch"].pid)], check=True)
            self.on("switch", "ip", "link", "set", name, "up", "master", "br0")
            self.on(name, "ip", "address", "add", f"{ADDRESSES[name]}/24", "dev", "fw0")
            self.on(name, "ip", "link", "set", "fw0", "up")
        for name in NAMES[1:]:
            sshd = private_sshd.PrivateSshd(self.folder, hosts=(name,), address=ADDRESSES[name],
                                            prefix=tuple(self.within(name)), mark=self.mark)
            self.addCleanup(sshd.stop)
        configurations = [path.read_text() for path in sorted(self.folder.glob("sshd-*/ssh_config"))]
        self.config = self.file("ssh_config")
        self.config.write_text("\n".join(configurations))

    def firewall(self, name: str, *rules: str):
        self.on(name, "nft", "add", "table", "inet", "fw")
        self.on(name, "nft", "add chain inet fw input { type filter hook input priority 0 ; }")
        self.on(name, "nft", "add chain inet fw output { type filter hook output priority 0 ; }")
        for rule in rules:
            self.on(name, "nft", f"add rule inet fw {rule}")

    def rdpipe(self, *arguments, **options) -> harness.Program:
        name, value = self.mark.split("=")
        return self.start(*self.within("home"), harness.BIN / "rdpipe", "-F", self.config, *arguments,
                          environment=self.environment(**{name: value}), **options)

    def test_the_bytes_go_from_host_to_host(self):
        data = os.urandom(3_000_000)
        self.assertTrue(self.run_pipe("-v", "host1:cat", "host2:cat", given=data) == data)
        for hop in ("home → host1", "host1 → host2", "host2 → home"):
            self.says(rf"^{hop.replace('home', 'here')}: transport=tcp .*auth=psk control=tls1.3")
        # Home sends the data only to host1 and receives it from host2. Bytes from host1 to host2 do not pass home.
        counted = subprocess.run([*self.within("home"), "ip", "-s", "-j", "link", "show", "fw0"], capture_output=True,
                                 check=True)
        self.assertLess(json.loads(counted.stdout)[0]["stats64"]["tx"]["bytes"], 1.5 * len(data))

    def test_a_home_that_lets_nobody_in(self):
        """As behind a NAT: home gets only answers to connections that it opens."""
        self.firewall("home", "input iif fw0 ct state new drop")
        self.assertEqual(self.run_pipe("host1:tr a b", ":rev", "host2:cat", ":cat", given=b"abc\n"), b"cbb\n")

    def test_another_address_for_the_bytes(self):
        self.on("host2", "ip", "address", "add", "10.79.0.2/24", "dev", "fw0")
        self.on("host1", "ip", "address", "add", "10.79.0.1/24", "dev", "fw0")
        printed = self.run_pipe("--data-address", "host2=10.79.0.2", f"host1:<{__file__}",
                                "host2:cat /proc/net/tcp; cat >/dev/null; cat >&2 /dev/null", status=OWN_FAILURE)
        self.says("cannot reach port .* at 10.79.0.2")  # home has no route into that network
        self.run_pipe("--data-address", "host2=10.79.0.2", f"host1:<{__file__}", "host2:>/dev/null")
        self.assertEqual(printed, b"")

    def test_a_firewall_with_a_few_open_ports(self):
        for name in ("host1", "host2"):
            self.firewall(name, f"input tcp dport {{ {SSH_PORT}, 5300-5303 }} accept",
                          "input tcp flags syn / syn,ack drop")
        self.assertEqual(self.run_pipe("--port-range", "5300-5303", "host1:cat", "host2:cat", given=b"let me in"),
                         b"let me in")
        self.run_pipe("host1:cat", "host2:cat", status=OWN_FAILURE)
        self.says("cannot reach port", "--port-range")

    def test_a_host_that_falls_silent(self):
        for victim in ("host1", "host2"):
            with self.subTest(victim):
                begun = self.file(f"begun-{victim}")
                self.program = self.rdpipe(f"host1:touch {begun}; yes", "host2:cat", f"host1:cat >/dev/null")
                harness.wait_until(begun.exists, "the first command to run")
                self.firewall(victim, "input drop", "output drop")
                self.ends(self.program, OWN_FAILURE, SILENT_S)
                # The processes on the silent host detect the loss by themselves.
                harness.wait_until(lambda: not self.left(), "every process on every host to go",
                                   40 * harness.TIMEOUT_SCALE)
                self.on(victim, "nft", "delete", "table", "inet", "fw")
                # Home loses host1 twice: its ssh, and the last hop. The first of them is named.
                last_hop = r"|host1 → here: lost the sender" if victim == "host1" else ""
                self.says(rf"^rdpipe: (stage [123] \(host[12]{last_hop})")

    def test_two_hosts_that_lose_each_other(self):
        """ssh still reaches both, so only one hop is lost. Every stage learns of it at once."""
        came = self.file("came")
        for what, command, options, limit_s in (("bytes flow", "cat /dev/zero", (), 10),
                                                ("none flow", "echo; exec sleep 1000", ("--timeout", "3s"), 3)):
            with self.subTest(what):
                came.unlink(missing_ok=True)
                self.program = self.rdpipe("--limit", "10M", *options, f"host1:{command}", f"host2:tee {came}",
                                           ":>/dev/null")
                harness.wait_until(lambda: came.exists() and came.stat().st_size > 0, "the first bytes to come")
                for name, other in (("host1", "host2"), ("host2", "host1")):
                    self.firewall(name, f"input ip saddr {ADDRESSES[other]} counter drop")
                self.ends(self.program, OWN_FAILURE, (limit_s + 10) * harness.TIMEOUT_SCALE)
                self.nothing_is_left()
                dropped = [self.dropped(name) for name in NAMES[1:]]
                for name in NAMES[1:]:
                    self.on(name, "nft", "delete", "table", "inet", "fw")
                self.assertTrue(all(dropped), dropped)
                self.rdpipe_says(r"^rdpipe: stage [12] \(host[12]: .*lost the (sender|receiver)")

    def dropped(self, name: str) -> int:
        """The number of packets that counting rules have matched."""
        listed = subprocess.run([*self.within(name), "nft", "-j", "list", "table", "inet", "fw"], capture_output=True,
                                check=True).stdout
        return sum(part["counter"]["packets"] for one in json.loads(listed)["nftables"]
                   for part in one.get("rule", {}).get("expr", ())
                   if "counter" in part)

    def test_a_host_that_says_nothing_from_the_beginning(self):
        self.firewall("host2", "input drop", "output drop")
        self.program = self.rdpipe("host1:cat", "host2:cat", stdin=subprocess.PIPE)
        self.ends(self.program, OWN_FAILURE, SILENT_S)
        self.rdpipe_says(r"^rdpipe: stage 2 \(host2: 'cat'\): ssh does not reach host2")
        self.nothing_is_left()

    def test_a_home_that_falls_silent(self):
        """Also when no bytes pass home."""
        begun = self.file("begun")
        self.program = self.rdpipe("--limit", "1M", "host1:</dev/zero", f"host2:tee {begun}", "host1:>/dev/null")
        harness.wait_until(lambda: begun.exists() and begun.stat().st_size > 0, "the first bytes to come")
        self.firewall("home", "input drop", "output drop")
        self.ends(self.program, OWN_FAILURE, SILENT_S)
        self.says(r"^rdpipe: stage [123] \(host[12].*its host does not answer")
        harness.wait_until(lambda: not self.left(), "every process on every host to go", 20 * harness.TIMEOUT_SCALE)


if __name__ == "__main__":
    harness.main()
