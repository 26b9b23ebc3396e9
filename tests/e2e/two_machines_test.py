"""Two machines (network namespaces with a virtual cable between them): keys, refusals, and an unplugged cable.

Needs root or user namespaces. Without them the tests are skipped with a message.
"""
import subprocess
import sys
import unittest

import harness
import machines

SENDER_ADDRESS, VIEWER_ADDRESS = machines.ADDRESSES
# Relays between connections to the first address and the second address, in both directions.
LEADS_ASTRAY = """
import socket, sys, threading
def pump(a, b):
    try:
        while some := a.recv(65536):
            b.sendall(some)
    except OSError:
        pass
    for end in (a, b):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
listening = socket.create_server((sys.argv[1], 5290))
print("ready", file=sys.stderr, flush=True)
while True:
    here = listening.accept()[0]
    there = socket.create_connection((sys.argv[2], 5290))
    for ends in ((here, there), (there, here)):
        threading.Thread(target=pump, args=ends, daemon=True).start()
"""


@unittest.skipUnless(machines.are_possible(), machines.WHY_NOT)
class TwoMachines(machines.TwoMachines):
    def sender(self, *options, listen="*:5290") -> harness.Program:
        return self.send("pattern:stamped", "--size", "64x36", "--fps", "30", "--listen", listen, *options,
                         prefix=self.within(0))

    def viewer(self, *options, **more) -> harness.Program:
        return self.view(SENDER_ADDRESS, *options, prefix=self.within(1), **more)

    def end_session(self, sender, viewer):
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        return self.checked_stats(sender, viewer)

    def test_the_same_key(self):
        key = self.make_key("key")
        sender = self.sender("--key", key)
        sender.wait_line("^listening on")
        viewer = self.viewer("--key", key, "--frames", "20")
        viewer.wait_line(r"transport=tcp memory=host auth=psk control=tls1.3 frames=plaintext "
                         r"\(auto: tcp; local needs the same user")
        sent, shown = self.end_session(sender, viewer)
        self.assertEqual((sent["transport"], shown["transport"], shown["frames_torn"]), ("tcp", "tcp", 0))

    def test_the_key_that_both_find(self):
        self.ends(self.start(harness.BIN / "framewire", "key"))
        sender = self.send("pattern:stamped", "--size", "64x36", "--fps", "30", prefix=self.within(0))
        sender.wait_line(r"^listening on \[::\]:5290")
        viewer = self.viewer("--frames", "5")
        self.ends(viewer)
        viewer.wait_line("auth=psk control=tls1.3")

    def test_a_connection_that_is_led_back_to_its_own_machine(self):
        """A host on the path, without a key, redirects the connection to the viewer's own machine."""
        key = self.make_key("key")
        sender = self.sender("--key", key)
        sender.wait_line("^listening on")
        astray = self.start(*self.within(1), sys.executable, "-c", LEADS_ASTRAY, VIEWER_ADDRESS, SENDER_ADDRESS)
        astray.wait_line("^ready")
        viewer = self.view(VIEWER_ADDRESS, "--key", key, "--frames", "5", "--transport", "tcp", prefix=self.within(0))
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, "the connection came back to the machine that it comes from")
        sender.wait_line("warning: refused .*came back")
        good = self.viewer("--key", key, "--frames", "5")
        self.end_session(sender, good)

    def test_other_keys_are_refused(self):
        sender = self.sender("--key", self.make_key("one"))
        sender.wait_line("^listening on")
        for _ in range(3):
            viewer = self.viewer("--key", self.make_key(f"other-{len(self.programs)}"))
            self.ends(viewer, harness.REFUSED)
            self.one_message(viewer, "key")
        for viewer in (self.viewer(), self.viewer("--insecure")):
            self.ends(viewer, harness.REFUSED)
            self.one_message(viewer, "key")
        good = self.viewer("--key", self.file("one"), "--frames", "5")
        self.end_session(sender, good)

    def test_without_a_key_only_aloud(self):
        refused = self.sender()
        self.ends(refused, harness.REFUSED)
        self.one_message(refused, "--insecure")
        sender = self.sender("--insecure")
        sender.wait_line("^listening on")
        viewer = self.viewer()
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, f"{SENDER_ADDRESS}:5290", "framewire key", "--insecure")
        viewer = self.viewer("--insecure", "--frames", "5")
        viewer.wait_line("transport=tcp memory=host auth=none control=plain frames=plaintext")
        self.end_session(sender, viewer)

    def test_a_bench_of_plain_sockets_between_them(self):
        """Plain sockets beside tcp. A row that a killed server or Ctrl-C interrupts is not printed as a result."""
        with self.file("server").open("w+b") as said:
            server = self.start(*self.within(0), harness.BIN / "framewire-bench", "--listen", "*:5290",
                                "--insecure", stdout=said)
            server.wait_line("^waiting for a sender on")

            def client(*options) -> harness.Program:
                return self.start(*self.within(1), harness.BIN / "framewire-bench", SENDER_ADDRESS, "--insecure",
                                  "--message-bytes", "64k", *options, "--verbose", stdout=subprocess.DEVNULL)

            self.ends(client("--count", "20"))
            for end in (harness.Program.kill, harness.Program.interrupt):
                broken_off = client("--transport", "socket", "--operation", "stream", "--duration", "60s")
                broken_off.wait_line("socket stream")
                harness.wait_until(lambda: self.is_connected(0, 2), "its data connection")
                before = len(server.lines)
                end(broken_off)
                server.wait_line("a client's row ended early: .*", after=before)
                broken_off.wait_end()
            server.interrupt()
            self.ends(server)
        rows = self.file("server").read_text().splitlines()
        self.assertEqual([row.split()[:2] for row in rows], [["socket", "20"], ["tcp", "20"]] * 2)

    def is_connected(self, machine: int, times: int) -> bool:
        said = subprocess.run([*self.within(machine), "ss", "-Htn", "state", "established"], capture_output=True,
                              text=True, check=True).stdout
        return len(said.splitlines()) >= times

    def test_the_viewer_listens_and_the_sender_dials(self):
        key = self.make_key("key")
        viewer = self.view("--listen", "*:5290", "--key", key, prefix=self.within(1))
        viewer.wait_line("^waiting for a sender on")
        sender = self.send("pattern:stamped", "--size", "64x36", "--fps", "30", "--frames", "20",
                           "--to", VIEWER_ADDRESS, "--key", key, prefix=self.within(0))
        self.ends(sender)
        self.ends(viewer)
        sent, _ = self.checked_stats(sender, viewer)
        self.assertEqual((sent["transport"], sent["frames_produced"]), ("tcp", 20))
        viewer.wait_line("auth=psk control=tls1.3")

    def test_the_cable_is_pulled_out_and_put_back(self):
        key = self.make_key("key")
        sender = self.sender("--key", key)
        sender.wait_line("^listening on")
        viewer = self.viewer("--key", key, terminal=True)
        viewer.wait_line("shown [1-9]")
        said = len(sender.lines)
        self.on(1, "ip", "link", "set", "fw0", "down")
        viewer.wait_line("^lost the sender: ", 10 * harness.TIMEOUT_SCALE)
        sender.wait_line(r"^viewer .* \(tcp\): ", 10 * harness.TIMEOUT_SCALE, after=said)
        before = len(viewer.lines)
        self.on(1, "ip", "link", "set", "fw0", "up")
        viewer.wait_line("transport=tcp", 20 * harness.TIMEOUT_SCALE, after=before)
        viewer.wait_line("shown [1-9]", after=len(viewer.lines))
        viewer.interrupt()
        self.ends(viewer)
        sender.interrupt()
        self.ends(sender)
        sent, shown = self.stats(sender), self.stats(viewer)
        self.assertEqual((shown["sessions"], len(sent["sessions"]), shown["frames_torn"]), (2, 2, 0))

    def test_a_viewer_that_does_not_read_is_slow_and_not_dead(self):
        sender = self.sender("--insecure", "--timeout", "2s")
        sender.wait_line("^listening on")
        viewer = self.viewer("--insecure", "--timeout", "2s", terminal=True)
        viewer.wait_line("shown [1-9]")
        viewer.pause()
        with self.assertRaises(AssertionError):
            sender.wait_line(r"^viewer .* \(tcp\): ", 6)
        viewer.go_on()
        viewer.wait_line("shown [1-9]", after=len(viewer.lines) + 1)
        viewer.interrupt()
        self.end_session(sender, viewer)
        self.assertEqual(self.stats(viewer)["sessions"], 1)


if __name__ == "__main__":
    machines.main()
