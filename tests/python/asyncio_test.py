"""asyncio: frames, slots and events in one event loop, without a thread."""
import asyncio
import threading
import time
import unittest

import framewire

from streams import DEADLINE_S, Streams


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, DEADLINE_S))


class Asyncio(Streams):
    def test_frames_and_slots_in_one_loop(self):
        stream = self.send((8, 8), frames=50, delivery="every")
        receiver = self.receive(stream, delivery="every")
        threads = threading.active_count()

        async def publish():
            async for slot in stream:
                slot.numpy()[:] = 9
                slot.publish()
            await asyncio.get_running_loop().run_in_executor(None, stream.sender.drain, DEADLINE_S)

        async def take():
            found = []
            async for frame in receiver:
                with frame:
                    found.append((frame.sequence, int(frame.numpy().min())))
            return found

        async def both():
            found, _ = await asyncio.gather(take(), publish())
            return found
        self.assertEqual(run(both()), [(number, 9) for number in range(50)])
        self.assertLessEqual(threading.active_count(), threads)

    def test_the_loop_goes_on_meanwhile(self):
        receiver = self.receive(self.send((8, 8)))

        async def count():
            task = asyncio.create_task(receiver.acquire_async())
            turns = 0
            while turns < 20:
                await asyncio.sleep(0.005)
                turns += 1
            self.assertFalse(task.done())
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        run(count())

    def test_waiting_takes_no_processor_time(self):
        stream, receiver = self.pair((8, 8))
        stream.claim(timeout=DEADLINE_S).publish()
        receiver.acquire(timeout=DEADLINE_S).release()
        wake_ups = []
        resume = receiver._resume
        receiver._resume = lambda: (wake_ups.append(1), resume())

        async def wait():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(receiver.acquire_async(), 1)
        before = time.thread_time()
        run(wait())
        self.assertLess(time.thread_time() - before, 0.3)
        self.assertLess(len(wake_ups), 10)
        self.assertEqual(receiver.next_event().type, "state")  # which was kept

    def test_events_beside_frames(self):
        stream, receiver = self.pair((8, 8))
        receiver.next_event()

        async def exchange():
            events = receiver.events()
            waiting = asyncio.create_task(anext(events))
            (await stream.claim_async()).publish()
            frame = await receiver.acquire_async()
            self.assertEqual(frame.sequence, 0)
            while not stream.send({"n": 1}):
                await asyncio.sleep(0.01)
            event = await waiting
            while event.type != "message":
                event = await anext(events)
            return event.message
        self.assertEqual(run(exchange()), {"n": 1})

    def test_close_ends_waits(self):
        receiver = self.receive(self.send((8, 8)))

        async def wait():
            task = asyncio.create_task(receiver.acquire_async())
            await asyncio.sleep(0.1)
            receiver.close()
            with self.assertRaises(framewire.StateError):
                await task
        run(wait())

    def assert_wake_ends(self, endpoint, begin):
        """begin() waits; a wake() from another thread ends it with None, and leaves nothing behind."""
        async def wait():
            task = asyncio.create_task(begin())
            await asyncio.sleep(0.05)
            self.assertFalse(task.done())
            thread = threading.Thread(target=endpoint.wake)
            thread.start()
            self.assertIsNone(await task)
            thread.join()
            task = asyncio.create_task(begin())
            await asyncio.sleep(0.05)
            self.assertFalse(task.done())
            task.cancel()
        run(wait())

    def test_wake_ends_waits(self):
        stream = self.send((8, 8))
        self.assert_wake_ends(stream, stream.claim_async)  # nobody watches
        receiver = self.receive(stream)
        self.assert_wake_ends(receiver, receiver.acquire_async)

    def test_wake_ends_loops(self):
        receiver = self.receive(self.send((8, 8)))

        async def loop():
            asyncio.get_running_loop().call_later(0.05, receiver.wake)
            async for _ in receiver:
                self.fail("there was a frame")
        run(loop())

    def test_one_receiver_in_several_loops(self):
        stream, receiver = self.pair((8, 8))
        for number in range(2):
            stream.claim(timeout=DEADLINE_S).publish()
            self.assertEqual(run(receiver.acquire_async()).sequence, number)


if __name__ == "__main__":
    unittest.main(verbosity=2)
