"""One picture of three machines: two senders on machines of their own, and a layer that the viewer's machine makes.

Needs root or user namespaces. Without them the tests are skipped with a message.
"""
import subprocess
import unittest

import harness
import machines
import pictures

FIRST, VIEWER = machines.ADDRESSES
SECOND = "10.78.0.1"


@unittest.skipUnless(machines.are_possible(), machines.WHY_NOT)
class ThreeMachines(machines.TwoMachines):
    def setUp(self):
        super().setUp()
        self.machines.append(self.make_machine())
        subprocess.run(["ip", "link", "add", "fw1", "netns", str(self.machines[2].pid), "type", "veth",
                        "peer", "name", "fw1", "netns", str(self.machines[1].pid)], check=True)
        for machine, address in ((2, SECOND), (1, "10.78.0.2")):
            self.on(machine, "ip", "address", "add", f"{address}/24", "dev", "fw1")
            self.on(machine, "ip", "link", "set", "fw1", "up")
        self.key = self.make_key("key")

    def sender(self, machine: int, colour: str) -> harness.Program:
        sender = self.send(f"lavfi:color=c={colour}:size=64x36:rate=20,format=rgba", "--name", colour,
                           "--key", self.key, "--listen", "*:5290", prefix=self.within(machine))
        sender.wait_line("^listening on")
        return sender

    def viewer(self, *options) -> harness.Program:
        local = "lavfi:color=c=white:size=64x36:rate=20,format=rgba"
        return self.view(FIRST, SECOND, "--layer", local, "--key", self.key, "--layout", "side", "--size", "180x60",
                         "--screenshot", self.file("shot.png"), *options, prefix=self.within(1), terminal=True)

    def colours(self) -> list[tuple]:
        picture = pictures.read_png(self.file("shot.png"))
        return [picture.at(x / 6, 0.5) for x in (1, 3, 5)]

    def assert_alike(self, found: tuple, wanted: tuple):
        self.assertTrue(all(abs(a - b) <= 1 for a, b in zip(found, wanted)), (found, wanted))

    def test_remote_and_local_pictures_side_by_side(self):
        senders = [self.sender(0, "red"), self.sender(2, "blue")]
        viewer = self.viewer("--frames", "5")
        self.ends(viewer)
        for address in (FIRST, SECOND):
            viewer.wait_line(rf"^{address}:5290: transport=tcp .* auth=psk control=tls1.3")
        for found, wanted in zip(self.colours(), ((255, 0, 0), (0, 0, 255), (255, 255, 255))):
            self.assert_alike(found, wanted)
        for sender in senders:
            sender.interrupt()
            self.ends(sender)
        streams = self.read_stats(viewer.stats_file)["streams"]
        self.assertEqual([stream["transport"] for stream in streams], ["tcp", "tcp", "local"])
        for stream in streams:
            self.assertEqual(stream["frames_received"], stream["frames_shown"] + stream["frames_superseded"])

    def test_an_unplugged_machine_leaves_the_others_alone(self):
        self.sender(0, "red")
        self.sender(2, "blue")
        viewer = self.viewer("--timeout", "2s")
        viewer.wait_line(rf"^{SECOND}:5290: transport=")
        viewer.wait_line(r"fps · ", after=len(viewer.lines))
        self.on(2, "ip", "link", "set", "fw1", "down")
        viewer.wait_line(rf"^{SECOND}:5290: lost the sender")
        for _ in range(2):
            viewer.wait_line(r"fps · ", after=len(viewer.lines))
        viewer.interrupt()
        self.ends(viewer)
        first, second, third = self.colours()
        self.assert_alike(first, (255, 0, 0))
        self.assert_alike(third, (255, 255, 255))
        self.assertLess(max(second), 200, "dimmed, under a banner")
        self.on(2, "ip", "link", "set", "fw1", "up")


if __name__ == "__main__":
    machines.main()
