"""asyncio: frames, slots and events in one event loop, without a thread."""
import asyncio
import gc
import os
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

    async def waiting(self, endpoint, wait):
        """A task that waits for the descriptor."""
        task = asyncio.create_task(wait())
        while not endpoint._waiting:
            await asyncio.sleep(0)
        return task

    def assert_close_ends(self, endpoint, wait, close, by_thread):
        async def end():
            asyncio.get_running_loop().set_debug(True)  # which finds calls from a wrong thread
            task = await self.waiting(endpoint, wait)
            if by_thread:
                thread = threading.Thread(target=close)
                self.addCleanup(thread.join)
                thread.start()
            else:
                close()
            with self.assertRaises(framewire.StateError):
                await task
        run(end())

    def test_close_ends_waits_for_frames(self):
        for by_thread in (False, True):
            receiver = self.receive(self.send((8, 8)))
            self.assert_close_ends(receiver, receiver.acquire_async, receiver.close, by_thread)

    def test_close_ends_waits_for_slots(self):
        for by_thread in (False, True):
            stream = self.send((8, 8))
            self.assert_close_ends(stream, stream.claim_async, stream.close, by_thread)

    def test_the_end_of_a_sender_ends_waits_of_its_streams(self):
        for by_thread in (False, True):
            sender = framewire.Sender(listen="127.0.0.1:0")
            stream = sender.add_stream("left", (8, 8))
            sender.start()
            self.assert_close_ends(stream, stream.claim_async, sender.close, by_thread)

    def test_close_while_the_loop_does_not_run(self):
        receiver = self.receive(self.send((8, 8)))
        loop = asyncio.new_event_loop()
        task = loop.run_until_complete(self.waiting(receiver, receiver.acquire_async))
        receiver.close()
        with self.assertRaises(framewire.StateError):
            loop.run_until_complete(asyncio.wait_for(task, DEADLINE_S))
        loop.close()

    def test_close_after_the_loop(self):
        before = len(os.listdir("/proc/self/fd"))
        stream = self.send((8, 8))
        loop = asyncio.new_event_loop()
        task = loop.run_until_complete(self.waiting(stream, stream.claim_async))
        task._log_destroy_pending = False
        loop.close()
        stream.close()
        del task, loop
        gc.collect()
        self.wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before, "descriptors to be closed")

    def test_the_end_of_a_stream_ends_all_waits(self):
        stream, receiver = self.pair((8, 8))
        stream.claim(timeout=DEADLINE_S).publish()
        receiver.acquire(timeout=DEADLINE_S).release()

        async def end():
            waits = [asyncio.create_task(wait()) for wait in [receiver.acquire_async] * 3 + [stream.claim_async] * 3]
            await asyncio.sleep(0.1)
            for wait in waits[3:]:
                if wait.done():  # there was room
                    wait.result().release()
            await stream.sender.drain_async(DEADLINE_S)
            waits += [asyncio.create_task(stream.claim_async()), asyncio.create_task(receiver.acquire_async())]
            return await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), DEADLINE_S)
        ends = run(end())
        self.assertTrue(all(isinstance(end, framewire.EndOfStream) for end in ends[:3] + ends[6:]), ends)

    def test_the_end_of_a_block_delivers_the_last_frame(self):
        async def send_one():
            turns = []

            async def take():
                return [frame.tag async for frame in receiver]  # ends, because the sender says that it was the last

            async def count():
                while True:
                    turns.append(await asyncio.sleep(0))
            async with framewire.send("test", (8, 8), listen="127.0.0.1:0", delivery="every") as stream:
                receiver = self.receive(stream, delivery="every")
                (await stream.claim_async()).publish(tag=77)
                taking, counting = asyncio.create_task(take()), asyncio.create_task(count())
            counting.cancel()
            self.assertTrue(stream.sender.closed)
            self.assertGreater(len(turns), 1)
            return await taking
        self.assertEqual(run(send_one()), [77])

    def test_an_exception_ends_a_block_at_once(self):
        async def fail():
            async with framewire.Sender(listen="127.0.0.1:0") as sender:
                stream = sender.add_stream("test", (8, 8), delivery="every")
                sender.start()
                receiver = framewire.receive(f"127.0.0.1:{sender.port}/test", delivery="every")
                self.addCleanup(receiver.close)
                (await stream.claim_async()).publish()  # which the receiver never takes
                sender._drain = lambda _: self.fail("it waits")
                raise ZeroDivisionError
        self.assertRaises(ZeroDivisionError, run, fail())

    def test_draining_can_be_cancelled(self):
        stream, receiver = self.pair((8, 8))
        stream.claim(timeout=DEADLINE_S).publish()
        frame = receiver.acquire(timeout=DEADLINE_S)
        stream.claim(timeout=DEADLINE_S).publish()  # which the receiver never takes

        async def drain():
            task = asyncio.create_task(stream.sender.drain_async())
            await asyncio.sleep(0.05)
            self.assertFalse(task.done())
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
        run(drain())
        self.assertTrue(stream.sender.closed)
        frame.release()

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

    async def assert_wakes_end(self, endpoint, begin, waits):
        """Two calls of wake() end these waits of begin(), which are two at most, and not the next one."""
        await asyncio.sleep(0.05)
        self.assertFalse(any(wait.done() for wait in waits))
        for _ in range(2):
            endpoint.wake()
        self.assertEqual(await asyncio.wait_for(asyncio.gather(*waits), DEADLINE_S / 2), [None] * len(waits))
        task = asyncio.create_task(begin())
        await asyncio.sleep(0.05)
        self.assertFalse(task.done())
        task.cancel()

    def test_each_wake_ends_one_wait(self):
        lonely = self.send((8, 8))  # nobody watches
        receiver = self.receive(self.send((8, 8)))
        for endpoint, begin in ((lonely, lonely.claim_async), (receiver, receiver.acquire_async)):
            async def wait():
                await self.assert_wakes_end(endpoint, begin, [asyncio.create_task(begin()) for _ in range(2)])
            run(wait())

    def test_wakes_count_neither_cancelled_waits_nor_those_for_events(self):
        stream = self.send((8, 8))

        async def wait():
            events = stream.events()
            beside = asyncio.create_task(anext(events))
            cancelled = await self.waiting(stream, stream.claim_async)
            await asyncio.sleep(0.05)
            cancelled.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await cancelled
            await self.assert_wakes_end(stream, stream.claim_async, [asyncio.create_task(stream.claim_async())])
            self.assertFalse(beside.done())
            beside.cancel()
        run(wait())

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


class KeptEvents(Streams):
    """What coroutines that wait for frames and slots do with events that nobody takes."""
    COUNT = 1000

    def kept(self, endpoint, fields):
        """The numbers of the events that are left when a coroutine has waited while all of these came."""
        waiting = iter(fields)
        endpoint._take_event = lambda: next(waiting, None)

        async def wait():
            task = asyncio.create_task(endpoint._until(lambda: None))
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
        run(wait())
        return [event.usage for event in iter(endpoint.next_event, None)]

    def test_a_stream_drops_none(self):
        stream = self.send((8, 8))
        stream.next_event()
        keys = [{"type": "key", "usage": number, "pressed": True} for number in range(self.COUNT)]
        self.assertEqual(self.kept(stream, keys), list(range(self.COUNT)))

    def test_a_receiver_keeps_the_newest_and_counts_the_others(self):
        receiver = self.receive(self.send((8, 8)))
        messages = [{"type": "message", "usage": number, "text": "{}"} for number in range(self.COUNT)]
        self.assertEqual(self.kept(receiver, messages), list(range(self.COUNT - 256, self.COUNT)))
        self.assertEqual(receiver.counts().messages_dropped, self.COUNT - 256)


if __name__ == "__main__":
    unittest.main(verbosity=2)
