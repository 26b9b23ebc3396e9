"""rdpipe over RDMA: every hop of a pipeline, also those from and to the machine that started it. The hosts are a
private sshd on the device's address."""
import os
import signal
import sys
import unittest

import lab
from lab import harness

import private_sshd
from pipelines import OWN_FAILURE, RING_BYTES, SLOT_BYTES, SMALL, PipelineTest


class PipeOverRdma(PipelineTest, lab.RdmaTest):
    sshd_address = lab.ADDRESS
    # On one machine rdpipe would choose loopback, which has no RDMA.
    common = ("-v", "--transport", "rdma", "--data-address", f"host1={lab.ADDRESS}")
    between = (*common, "--data-address", f"host2={lab.ADDRESS}")

    def test_sizes_around_a_slot_and_the_ring(self):
        for size in (0, 1, SLOT_BYTES + 1, RING_BYTES + 1, 3_000_017):
            with self.subTest(f"{size} bytes"):
                data = os.urandom(size)
                self.assertTrue(self.run_pipe(*self.between, *SMALL, "host1:cat", "host2:cat", given=data) == data)
                for hop in ("here → host1", "host1 → host2", "host2 → here"):
                    self.says(rf"^{hop}: transport=rdma .*auth=psk control=tls1.3", rf"^{hop}: Bandwidth .* over rdma")

    def test_files_at_both_ends(self):
        original, copy = self.file("original"), self.file("copy")
        original.write_bytes(os.urandom(10_000_001))
        self.run_pipe(*self.between, f"host1:<{original}", f"host2:>{copy}")
        self.assertTrue(copy.read_bytes() == original.read_bytes())
        self.says("^host1 → host2: Bandwidth .* over rdma")

    def test_a_stage_that_is_killed(self):
        done = self.file("done")
        self.program = self.rdpipe(*self.between, "host1:yes", f"host2:cat >/dev/null && touch {done}")
        os.kill(self.pid_of("^yes"), signal.SIGKILL)
        self.ends(self.program, 128 + signal.SIGKILL)
        self.nothing_is_left()
        self.says(r"stage 1 .* was ended by signal 9")
        self.assertFalse(done.exists(), "what was cut off looked complete")

    def test_encrypted_it_goes_by_tcp(self):
        self.assertEqual(self.run_pipe("-v", "--encrypt", "host1:cat", given=b"secret"), b"secret")
        self.says(" over tcp")
        self.assertEqual(self.run_pipe("--encrypt", "--transport", "rdma", "host1:cat", status=OWN_FAILURE), b"")


@unittest.skipUnless(lab.ADDRESS6, "this machine has no IPv6 address on an RDMA device")
class PipeOverIpv6(PipelineTest, lab.RdmaTest):
    """The hosts are reached over IPv6, by a name and by the bare address."""
    sshd_address = lab.ADDRESS6
    hosts = ("host1", lab.ADDRESS6)

    def test_every_hop_by_rdma_and_by_tcp(self):
        data = os.urandom(RING_BYTES + 1)
        bare = f"[{lab.ADDRESS6}]"
        # Loopback would be chosen, and has no RDMA.
        by_ipv6 = ("--data-address", f"host1={bare}", "--data-address", f"{bare}={bare}")
        for transport in ("rdma", "tcp"):
            with self.subTest(transport):
                self.assertTrue(self.run_pipe("-v", *by_ipv6, "--transport", transport, "host1:cat", f"{bare}:cat",
                                              given=data) == data)
                self.says(*(rf"^{hop}: Bandwidth .* over {transport}"
                            for hop in ("here → host1", rf"host1 → .*{lab.ADDRESS6}.*", ".* → here")))


if __name__ == "__main__":
    if private_sshd.MISSING:
        print(private_sshd.MISSING, file=sys.stderr)
        sys.exit(77)
    harness.main()
