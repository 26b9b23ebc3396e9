"""Objects that one thread releases or closes while another one uses them without the GIL."""
import gc
import os
import pathlib
import threading
import unittest

import framewire

from padding_test import PaddedSender
from streams import DEADLINE_S, Streams

HEIGHT = 2000  # rows of 8 KB: a copy takes long enough for another thread to run meanwhile
PITCH_BYTES = 8001
RELEASED_DURING_PUBLISH = """
import ctypes, os, sys
shim = ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_GLOBAL)
import framewire
unrefs = ctypes.c_int.in_dll(shim, "unrefs")
stream = framewire.send("test", (8, 8), listen="127.0.0.1:0")
slot = stream.claim(timeout=30, unwatched=True)

def release():
    slot.release()
    print("released", unrefs.value)

callback = ctypes.CFUNCTYPE(None)(release)
ctypes.c_void_p.in_dll(shim, "during_publish").value = ctypes.cast(callback, ctypes.c_void_p).value
print("published", slot.publish(keep=True), unrefs.value)
print(slot, stream.counts().slots_in_use)
"""


class Publish(Streams):
    def test_a_slot_that_is_released_meanwhile_lasts_until_it_is_published(self):
        shim = pathlib.Path(os.environ["FRAMEWIRE_BUILD"]) / "tests" / "python" / "during_publish.so"
        output = self.assert_ends_well(self.python(RELEASED_DURING_PUBLISH, shim))
        self.assertEqual(output.splitlines(), ["released 0", "published True 1",
                                               "<framewire.Slot rgba 8x8, published, released> 0"])


class Planes(Streams):
    def copied_while(self, act):
        """A receiver, a frame with a plane that must be copied, what its `planes` were, and what `act` returned, which
        another thread called with the frame while the plane was copied."""
        for _ in range(20):
            receiver = PaddedSender(self).send(PITCH_BYTES, width=PITCH_BYTES // 2, height=HEIGHT)
            frame = receiver.acquire(timeout=DEADLINE_S)
            before = framewire.copies()
            found, is_done, is_during = [], threading.Event(), []

            def wait_and_act(frame=frame, before=before, found=found, is_done=is_done, is_during=is_during):
                while framewire.copies() == before and not is_done.is_set():  # the copy is counted before it is made
                    pass
                is_during.append(not is_done.is_set())
                found.append(act(frame))
            thread = threading.Thread(target=wait_and_act)
            thread.start()
            try:
                planes = frame.planes
            except framewire.StateError as error:
                planes = error
            is_done.set()
            thread.join(DEADLINE_S)
            if is_during[0]:
                return receiver, frame, planes, found[0]
        self.fail("no other thread ran during any of 20 copies")

    def test_a_release_while_a_plane_is_copied(self):
        receiver, frame, planes, _ = self.copied_while(lambda frame: frame.release())
        self.assertIsInstance(planes, framewire.StateError)
        self.assertRaises(framewire.StateError, lambda: frame.planes)
        self.assertEqual(receiver.counts().frames_held, 0)

    def test_two_threads_ask_for_planes(self):
        receiver, frame, planes, others = self.copied_while(lambda frame: frame.planes)
        self.assertIs(planes, others)
        frame.release()
        self.assertEqual(receiver.counts().frames_held, 1)
        del planes, others
        self.assertEqual(receiver.counts().frames_held, 0)


class Collector(Streams):
    def test_an_event_has_its_own_text_although_the_collector_takes_the_next_one(self):
        stream, receiver = self.pair((8, 8))
        with stream.claim(timeout=DEADLINE_S):
            pass
        receiver.acquire(timeout=DEADLINE_S).release()
        for text in ("first", "second"):
            self.assertTrue(stream.send({"text": text * 20}))
        take_event = receiver._take_event
        self.wait_until(take_event, "the session")
        taken = []

        def take_in_collector(phase, _):
            while phase == "start" and not taken:
                if (event := take_event()) is not None:
                    taken.append(event)
        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        gc.callbacks.append(take_in_collector)
        self.addCleanup(gc.callbacks.remove, take_in_collector)
        gc.disable()
        self.addCleanup(gc.enable)
        kept = [{} for _ in range(1000)]  # else the next dictionary is a free one, made without the collector
        gc.set_threshold(1)
        gc.enable()
        event = None
        while event is None:
            event = take_event()
        gc.disable()
        self.assertEqual([event["text"].count("first"), taken[0]["text"].count("second")], [20, 20])
        del kept


if __name__ == "__main__":
    unittest.main(verbosity=2)
