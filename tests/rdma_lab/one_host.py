"""Programs over RDMA on one machine, for the tests of it."""
import lab
from lab import harness

# Small and slow: an emulated viewer needs half a minute to start if it has much to draw.
STREAM = ("pattern:stamped", "--size", "160x90", "--fps", "10")


class OneHostTest(lab.RdmaTest):
    def rdma_sender(self, *arguments, **options) -> harness.Program:
        return self.send_on(*arguments, "--transport", "rdma", **options)

    def rdma_viewer(self, sender, *arguments, **options) -> harness.Program:
        return self.view(sender.address, "--transport", "rdma", *arguments, **options)

    def open_sender(self, *arguments) -> harness.Program:
        sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "30", "--insecure", *arguments,
                              listen="*:0")
        sender.address = f"{lab.ADDRESS}:{sender.port}"
        return sender
