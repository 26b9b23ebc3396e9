"""Messages, input, states, counts, and several streams of one sender."""
import unittest

import framewire

from streams import DEADLINE_S, TRANSPORT, Streams


class Events(Streams):
    def next_event(self, endpoint, type):
        found = []

        def is_there():
            while (event := endpoint.next_event()) is not None:
                if event.type == type:
                    found.append(event)
                    return True
            return False
        self.wait_until(is_there, f"an event {type}")
        return found[0]

    def watched(self):
        """A pair with a session, that takes messages and input."""
        stream, receiver = self.pair((64, 48))
        stream.next_event()
        receiver.next_event()
        with stream.claim(timeout=DEADLINE_S):
            pass
        receiver.acquire(timeout=DEADLINE_S).release()
        return stream, receiver

    def test_messages_go_both_ways(self):
        stream, receiver = self.watched()
        self.wait_until(lambda: receiver.send({"zoom": 2.5, "text": "grün"}), "a session")
        event = self.next_event(stream, "message")
        self.assertEqual((event.message, event.viewer_number), ({"zoom": 2.5, "text": "grün"}, 1))
        self.assertTrue(stream.send('{"ready": true}'))
        self.assertEqual(self.next_event(receiver, "message").message, {"ready": True})
        for wrong in ("no JSON", '{"a": 1}\0 and more'):
            self.assertRaises(framewire.ArgumentError, receiver.send, wrong)
            self.assertRaises(framewire.ArgumentError, stream.send, wrong)
        self.assertTrue(receiver.send({"a": "\0"}))
        self.assertEqual(self.next_event(stream, "message").message, {"a": "\0"})

    def test_a_refusal_ends_when_the_stream_asks(self):
        stream, receiver = self.pair((64, 48))
        stream.claim(timeout=DEADLINE_S).publish()
        receiver.acquire(timeout=DEADLINE_S).release()

        def is_refused():
            try:
                receiver.send({"n": 1})
            except framewire.RefusedError as error:
                self.assertIn("its program does not ask for any", str(error))
                return True
            return False
        self.wait_until(is_refused, "a refusal")
        self.assertGreaterEqual(stream.counts().messages_dropped, 1)
        self.assertIsNone(stream.next_event())
        self.wait_until(lambda: not is_refused(), "the end of the refusal")
        self.assertEqual(self.next_event(stream, "message").message, {"n": 1})

    def test_nobody_gets_messages_without_a_session(self):
        self.assertFalse(self.send((8, 8)).send({}))

    def test_viewers_and_states(self):
        stream, receiver = self.watched()
        self.assertEqual(stream.counts().viewers, 1)
        state, text = receiver.state()
        self.assertEqual(state, "connected")
        self.assertIn(f"transport={TRANSPORT}", text)
        receiver.close()
        self.wait_until(lambda: stream.counts().viewers == 0, "the session to end")

    def test_input(self):
        stream, receiver = self.watched()
        sent = [framewire.Event("key", usage=4, keysym=97, pressed=True, modifiers=2),
                framewire.Event("text", text="é"),
                framewire.Event("pointer", x=1.5, y=2.5),
                framewire.Event("button", button=2, pressed=True, x=3, y=4)]
        for event in sent:
            self.wait_until(lambda event=event: self.sends(receiver, event), f"{event.type} to be taken")
            found = self.next_event(stream, event.type)
            for name in ("usage", "keysym", "pressed", "modifiers", "text", "x", "y", "button"):
                self.assertEqual(getattr(found, name), getattr(event, name), (event.type, name))
            self.assertEqual(len(found.viewer), 16)
        self.assertRaises(ValueError, receiver.send_event, framewire.Event("laser"))

    def sends(self, receiver, event):
        try:
            return receiver.send_event(event)
        except framewire.RefusedError:  # the source has not said yet that it takes input
            return False

    def test_counts_add_up(self):
        stream, receiver = self.pair((8, 8))
        for number in range(10):
            stream.claim(timeout=DEADLINE_S).publish()
            self.assertEqual(receiver.acquire(timeout=DEADLINE_S).sequence, number)
        stream.drop()
        counts = receiver.counts()
        self.assertEqual((counts.frames_received, counts.frames_lost, counts.frames_skipped, counts.sessions),
                         (10, 0, 0, 1))
        self.assertEqual(counts.bytes_received, 10 * 8 * 8 * 4)
        counts = stream.counts()
        self.assertEqual((counts.frames_published, counts.frames_dropped, counts.viewers), (10, 1, 1))
        self.assertEqual(receiver.clock_offset(), (0, 0))

    def test_log_lines(self):
        stream, receiver = self.pair((8, 8))
        stream.claim(timeout=DEADLINE_S).publish()
        receiver.acquire(timeout=DEADLINE_S).release()
        receiver.close()
        lines = []

        def has_lines():
            lines.extend(stream.sender.log_lines())
            return lines
        self.wait_until(has_lines, "a line about the session")
        self.assertTrue(all(level in range(4) and isinstance(text, str) for level, text in lines), lines)


class SeveralStreams(Streams):
    def test_several_streams_of_one_sender(self):
        with framewire.Sender(listen="127.0.0.1:0") as sender:
            left = sender.add_stream("left", (8, 8), slots=3)
            right = sender.add_stream("right", (16, 4), "gray8", frame_rate=25)
            sender.start()
            for stream, name, shape in ((left, "left", (8, 8, 4)), (right, "right", (4, 16))):
                with framewire.receive(f"127.0.0.1:{sender.port}/{name}") as receiver:
                    with stream.claim(timeout=DEADLINE_S) as slot:
                        slot.numpy()[:] = 3
                    with receiver.acquire(timeout=DEADLINE_S) as frame:
                        self.assertEqual((frame.numpy().shape, frame.numpy().max()), (shape, 3))

    def test_a_receiver_that_listens(self):
        with framewire.receive(listen="127.0.0.1:0") as receiver:
            self.assertEqual(receiver.state()[0], "waiting")
            with framewire.send("test", (8, 8), to=f"127.0.0.1:{receiver.port}") as stream:
                self.assertEqual(stream.sender.port, 0)
                with stream.claim() as slot:
                    slot.numpy()[:] = 5
                    slot.publish()
                with receiver.acquire(timeout=DEADLINE_S) as frame:
                    self.assertEqual(frame.numpy().max(), 5)
        self.assertRaisesRegex(framewire.StateError, "closed", lambda: receiver.port)


if __name__ == "__main__":
    unittest.main(verbosity=2)
