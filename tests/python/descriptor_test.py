"""Descriptors, for event loops: readable while something waits, and else not."""
import select
import threading
import unittest

from streams import DEADLINE_S, Streams

FRAMES = 3000


def is_readable(endpoint, seconds=0):
    return bool(select.select([endpoint], [], [], seconds)[0])


class Descriptor(Streams):
    def connected(self):
        stream, receiver = self.pair((8, 8))
        stream.claim(timeout=DEADLINE_S).publish()
        receiver.acquire(timeout=DEADLINE_S).release()
        return stream, receiver

    def has_nothing(self, receiver):
        while receiver.next_event() is not None:
            pass
        return receiver.acquire(0) is None and not is_readable(receiver)

    def test_not_readable_while_nothing_waits(self):
        _, receiver = self.connected()
        self.wait_until(lambda: self.has_nothing(receiver), "a descriptor that is not readable")
        self.assertFalse(is_readable(receiver, 0.2))

    def test_readable_while_frames_wait(self):
        stream, receiver = self.connected()
        self.wait_until(lambda: self.has_nothing(receiver), "a descriptor that is not readable")

        def publish():
            for _ in range(FRAMES):
                stream.claim(timeout=DEADLINE_S).publish()
        publishing = threading.Thread(target=publish)
        publishing.start()
        taken = 0
        while taken < FRAMES:  # one frame for each time that it is readable
            while receiver.next_event() is not None:
                pass
            if not is_readable(receiver, DEADLINE_S / 6):
                self.assertIsNone(receiver.acquire(0), f"it is not readable, although frame {taken} waits")
            if (frame := receiver.acquire(0)) is not None:
                frame.release()
                taken += 1
        publishing.join(DEADLINE_S)

    def test_readable_while_events_wait(self):
        stream, receiver = self.connected()
        self.wait_until(lambda: self.has_nothing(receiver), "a descriptor that is not readable")
        for number in range(3):
            self.assertTrue(stream.send({"n": number}))
            event = None
            while event is None:
                self.assertTrue(is_readable(receiver, DEADLINE_S / 6), f"message {number} waits")
                event = receiver.next_event()
            self.assertEqual(event.message, {"n": number})

    def test_readable_once_a_slot_that_was_asked_for_is_free(self):
        stream = self.send((8, 8))
        self.assertIsNone(stream.claim(0))
        self.assertFalse(is_readable(stream))
        self.receive(stream)
        self.assertTrue(is_readable(stream, DEADLINE_S / 3), "a slot is free")
        with stream.claim(0):
            pass
        self.assertFalse(is_readable(stream), "nobody asks for another slot")


if __name__ == "__main__":
    unittest.main(verbosity=2)
