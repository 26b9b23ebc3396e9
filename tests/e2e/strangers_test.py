"""Whoever knocks at the port, and whatever answers where a sender should be: told in one sentence, and harmless."""
import os
import socket
import struct
import threading

import harness

HTTP_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
# A TLS record that announces a ClientHello of 512 bytes and brings 40 of them.
HALF_A_TLS_HELLO = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + bytes(34)


class Strangers(harness.EndToEnd):
    def setUp(self):
        super().setUp()
        self.connections = []
        self.addCleanup(lambda: [connection.close() for connection in self.connections])

    def knock(self, saying: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.sender.port), harness.WATCHDOG_S)
        self.connections.append(connection)
        try:
            connection.sendall(saying)
        except OSError:
            pass  # closed already, which is as good
        return connection

    def is_closed(self, connection: socket.socket) -> bool:
        """Waits until the sender has closed it, whatever it said before."""
        try:
            while connection.recv(65536):
                pass
            return True
        except TimeoutError:
            return False
        except OSError:
            return True

    def start_session(self, transport="tcp"):
        self.sender = self.send_on("pattern:stamped", "--size", "64x36", "--fps", "30")
        self.viewer = self.view(self.sender.address, "--transport", transport, terminal=True)
        self.viewer.wait_line("shown [1-9]")
        self.said = len(self.viewer.lines)

    def end_session(self):
        """The session goes on as if nothing had been, and another viewer gets in."""
        self.viewer.wait_line("shown [1-9]", after=len(self.viewer.lines))
        another = self.view(self.sender.address, "--frames", "5")
        self.ends(another)
        self.sender.interrupt()
        self.ends(self.sender)
        self.ends(self.viewer)
        sent, shown = self.stats(self.sender), self.stats(self.viewer)
        self.assertEqual((shown["sessions"], shown["frames_torn"], shown["frames_lost"]), (1, 0, 0))
        self.assertEqual(len(sent["sessions"]), 2)
        self.assertNotIn("lost the sender", self.viewer.text)

    def test_http_and_noise(self):
        self.start_session()
        for saying in (HTTP_GET, b"\0" * 4096, os.urandom(100_000), b"SSH-2.0-OpenSSH_9.2\r\n", b"\n"):
            self.assertTrue(self.is_closed(self.knock(saying)), f"{saying[:20]} is closed")
        self.end_session()

    def test_messages_that_are_too_long(self):
        self.start_session()
        greeting = b"FWCTRL\x00\x01"
        for saying in (greeting + struct.pack("<I", 0xFFFFFFFF), greeting + struct.pack(">I", 0xFFFFFFFF),
                       greeting + b"\xff" * 200_000, greeting[:7] + b"\x63" + bytes(64)):
            self.assertTrue(self.is_closed(self.knock(saying)))
        self.end_session()

    def test_half_a_tls_hello_and_gone(self):
        self.start_session()
        for _ in range(5):
            self.knock(HALF_A_TLS_HELLO).close()
        self.end_session()

    def test_tls_hellos_that_stay_half(self):
        self.start_session()
        half = [self.knock(HALF_A_TLS_HELLO) for _ in range(5)]
        self.end_session()
        for connection in half:
            self.assertTrue(self.is_closed(connection))

    def test_two_hundred_connections_that_say_nothing(self):
        self.start_session()
        memory_kb = self.sender.memory_kb()
        idle = [self.knock() for _ in range(200)]
        self.assertLess(self.sender.memory_kb() - memory_kb, 32 * 1024)
        self.end_session()
        self.assertEqual(len(idle), 200)

    def test_connections_that_come_and_go_leave_nothing_behind(self):
        self.start_session()
        self.knock(HTTP_GET)
        descriptors = harness.wait_until(self.sender.descriptors, "its descriptors")
        for _ in range(300):
            self.knock(HTTP_GET).close()
        harness.wait_until(lambda: self.sender.descriptors() <= descriptors, "as many descriptors as before")
        self.end_session()


class NotASender(harness.EndToEnd):
    """A viewer that is pointed at something else: one sentence, the right status, and an end."""

    def serve(self, answer) -> str:
        """A server on a thread, `answer(connection)` for each; its address."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def handle(connection):
            with connection:
                try:
                    answer(connection)
                except OSError:
                    pass

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def view_there(self, answer, *options, status=harness.FAILED) -> str:
        address = self.serve(answer)
        viewer = self.view(address, "--insecure", "--retry", "2s", *options)
        self.ends(viewer, status)
        return self.one_sentence(viewer, address)

    @staticmethod
    def http(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    @staticmethod
    def echo(connection):
        while some := connection.recv(65536):
            connection.sendall(some)

    @staticmethod
    def noise(connection):
        connection.sendall(bytes(range(7, 256)) * 40)
        connection.recv(65536)

    @staticmethod
    def flood(connection):
        while True:
            connection.sendall(b"\xa5" * 65536)

    @staticmethod
    def silence(connection):
        while connection.recv(65536):
            pass

    def test_a_web_server(self):
        self.assertRegex(self.view_there(self.http), "not framewire")

    def test_an_echo(self):
        self.assertRegex(self.view_there(self.echo), "not framewire")

    def test_noise(self):
        self.assertRegex(self.view_there(self.noise), "not framewire")

    def test_noise_without_end(self):
        self.assertRegex(self.view_there(self.flood), "not framewire")

    def test_somebody_who_hangs_up(self):
        self.view_there(lambda connection: None, status=harness.LOST)

    def test_silence(self):
        self.assertRegex(self.view_there(self.silence, status=harness.LOST), "answer in time")

    def test_without_a_key_nothing_is_said_to_strangers_at_all(self):
        heard = []

        def listen(connection):
            heard.append(connection.recv(65536))

        address = self.serve(listen)
        viewer = self.view(address)
        self.ends(viewer, harness.REFUSED)
        self.one_sentence(viewer, address, "framewire key", "--insecure")
        self.assertNotIn(True, [bool(words) for words in heard])

    def test_with_a_key(self):
        self.ends(self.start(harness.BIN / "framewire", "key"))
        for answer in (self.http, self.echo, self.noise):
            address = self.serve(answer)
            viewer = self.view(address, "--retry", "2s")
            self.ends(viewer, harness.FAILED)
            self.one_sentence(viewer, address, "not framewire")

    def test_a_name_that_nobody_has(self):
        viewer = self.view("no-such-host.invalid", "--retry", "1s")
        self.ends(viewer, harness.FAILED)
        self.one_sentence(viewer, "'no-such-host.invalid'", "not known")


if __name__ == "__main__":
    harness.main()
