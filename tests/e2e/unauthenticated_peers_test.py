"""Unauthenticated peers that connect to a sender disturb neither the running session nor the next viewer."""
import contextlib
import os
import socket
import struct

import harness

HTTP_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
# A TLS record that announces a ClientHello of 512 bytes but has only 40 of them.
HALF_A_TLS_HELLO = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + bytes(34)


class UnauthenticatedPeers(harness.EndToEnd):
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
            pass  # the sender may have closed it already
        return connection

    def is_closed(self, connection: socket.socket) -> bool:
        """Reads and discards the sender's bytes until the sender closes the connection."""
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
        """Checks that the session is undisturbed and another viewer is accepted; then ends it."""
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

    def test_words_of_framewire_with_nonsense_behind(self):
        self.start_session()
        for saying in (b"FWCTRL01", b"FWDATA01" + os.urandom(200), b"FWDATA01" + bytes(200), b"FWREPL01"):
            connection = self.knock(saying)
            try:
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the sender may have closed it already
            self.assertTrue(self.is_closed(connection), saying[:8])
        self.end_session()

    def test_messages_that_nobody_sends(self):
        """Invalid messages by the same user, whom the sender authenticates."""
        self.start_session()
        memory_kb = self.sender.memory_kb()
        hello = b'{"type":"hello","role":"viewer","program":"unknown","versions":[1]}'
        for words in (struct.pack("<I", 0xFFFFFFFF), struct.pack("<I", 0xFFFFFFFF) + bytes(200_000),
                      struct.pack("<I", 0),
                      self.message(b"hello"), self.message(b"[" * 5000), self.message(b'{"type":7}'),
                      self.message(b'{"type":"bye"}'), self.message(b"\xff\xfe{}"),
                      self.message(hello.replace(b"[1]", b'["one"]')),
                      self.message(hello) + self.message(b'{"type":"choose"}'),
                      self.message(hello)
                      + self.message(b'{"type":"choose","stream":99,"link":"tcp","delivery":"latest"}'),
                      self.message(hello)
                      + self.message(b'{"type":"choose","stream":0,"link":"rdma","delivery":"latest"}')):
            with self.subTest(words[:60]):
                connection = self.greet(b"FWCTRL01\r\n\r\n")
                self.assertEqual(connection.recv(8, socket.MSG_WAITALL), b"FWREPL01")
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # closed before it has taken all
                    connection.sendall(words)
                self.assertTrue(self.is_closed(connection), "is closed")
        self.assertLess(self.sender.memory_kb() - memory_kb, 16 * 1024)
        self.end_session()

    def test_another_version_is_told_both(self):
        self.start_session()
        connection = self.greet(b"FWCTRL02\r\n\r\n")
        said = self.everything_from(connection)
        self.assertRegex(said, rb"(?s)^FWREPL01.*version 1 .*version 2.*\"refused\"")
        for versions, wanted in ((b"[2,3]", rb"speaks 1, unknown speaks 2, 3"),
                                 (b"[]", rb"no session version in common")):
            hello = b'{"type":"hello","role":"viewer","program":"unknown","versions":%s}' % versions
            connection = self.greet(b"FWCTRL01\r\n\r\n" + self.message(hello))
            said = self.everything_from(connection)
            self.assertRegex(said, wanted)
            self.assertIn(b'"refused"', said)
        self.end_session()

    @staticmethod
    def everything_from(connection: socket.socket) -> bytes:
        said = b""
        while some := connection.recv(65536):
            said += some
        return said

    @staticmethod
    def message(words: bytes) -> bytes:
        return struct.pack("<I", len(words)) + words

    def greet(self, saying: bytes) -> socket.socket:
        """Connects to the sender's Unix socket and sends `saying`."""
        connection = socket.socket(socket.AF_UNIX)
        self.connections.append(connection)
        connection.settimeout(harness.WATCHDOG_S)
        connection.connect(f"\0framewire-{os.geteuid()}-{self.sender.port}")
        connection.sendall(saying)
        return connection

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


if __name__ == "__main__":
    harness.main()
