"""The Python package over RDMA."""
import asyncio
import os
import sys

import lab
from lab import harness

sys.path.insert(0, str(harness.BIN.parent / "python"))
import framewire  # noqa: E402

TIMEOUT_S = 60
SIZE = (64, 36)
SIZE_BYTES = 64 * 36 * 4


class Python(lab.RdmaTest):
    def setUp(self):
        super().setUp()
        os.environ["XDG_CONFIG_HOME"] = os.environ["HOME"] = "/nonexistent"  # there is no key
        self.stream = framewire.send("render", SIZE, "rgba", listen=f"{lab.ADDRESS}:0", insecure=True, delivery="every")
        self.addCleanup(self.stream.close)
        self.receiver = framewire.receive(f"{lab.ADDRESS}:{self.stream.sender.port}/render", transport="rdma",
                                          insecure=True, delivery="every")
        self.addCleanup(self.receiver.close)

    def publish(self, value):
        with self.stream.claim(timeout=TIMEOUT_S) as slot:
            memoryview(slot).cast("B", (SIZE_BYTES,))[:] = bytes([value]) * SIZE_BYTES

    def test_pixels_arrive(self):
        for value in range(20):
            self.publish(value)
            with self.receiver.acquire(timeout=TIMEOUT_S) as frame:
                self.assertEqual(frame.sequence, value)
                self.assertEqual(bytes(memoryview(frame)), bytes([value]) * SIZE_BYTES)
        self.assertIn("rdma", self.receiver.state()[1])
        self.assertEqual(framewire.copies(), 0)

    def test_a_frame_outlives_the_session(self):
        self.publish(7)
        frame = self.receiver.acquire(timeout=TIMEOUT_S)
        self.receiver.close()
        self.stream.close()
        self.assertEqual(bytes(memoryview(frame)), bytes([7]) * SIZE_BYTES)

    def test_asyncio(self):
        async def take(count):
            return [bytes(memoryview(await self.receiver.acquire_async()))[0] for _ in range(count)]

        async def publish(count):
            for value in range(count):
                slot = await self.stream.claim_async()
                memoryview(slot).cast("B", (SIZE_BYTES,))[:] = bytes([value]) * SIZE_BYTES
                slot.publish()
                del slot

        async def both():
            return (await asyncio.gather(take(20), publish(20)))[0]
        self.assertEqual(asyncio.run(asyncio.wait_for(both(), TIMEOUT_S)), list(range(20)))


if __name__ == "__main__":
    harness.main()
