"""A viewer that connects to another kind of server prints one error and ends with the right status."""
import harness


class NotASender(harness.EndToEnd):
    def view_there(self, answer, status=harness.FAILED) -> str:
        address = self.serve_connections(answer)
        viewer = self.view_until_answered(address, "--insecure")
        self.ends(viewer, status)
        return self.one_message(viewer, address)

    def lose(self, answer) -> str:
        address = self.serve_connections(answer)
        viewer = self.view(address, "--insecure", "--retry", "2s")
        self.ends(viewer, harness.LOST)
        return self.one_message(viewer, address)

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
        self.lose(lambda connection: None)

    def test_silence(self):
        self.assertRegex(self.lose(self.silence), "answer in time")

    def test_a_sender_of_another_version(self):
        def newer(connection):
            connection.recv(65536)
            connection.sendall(b"FWREPL02" + bytes(100))
            connection.recv(65536)

        message = self.view_there(newer, status=harness.REFUSED)
        self.assertRegex(message, "version 2 .*version 1")

    def test_somebody_who_says_nonsense_as_framewire_does(self):
        def broken(connection):
            connection.recv(65536)
            connection.sendall(b"FWREPL01" + b"\xff" * 1000)
            connection.recv(65536)

        self.view_there(broken)

    def test_without_a_key_unauthenticated_peers_get_no_reply(self):
        heard = []

        def listen(connection):
            heard.append(connection.recv(65536))

        address = self.serve_connections(listen)
        viewer = self.view(address)
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, address, "framewire key", "--insecure")
        self.assertNotIn(True, [bool(words) for words in heard])

    def test_with_a_key(self):
        self.ends(self.start(harness.BIN / "framewire", "key"))
        for answer in (self.http, self.echo, self.noise):
            address = self.serve_connections(answer)
            viewer = self.view_until_answered(address)
            self.ends(viewer, harness.FAILED)
            self.one_message(viewer, address, "not framewire")

    def test_a_name_that_nobody_has(self):
        viewer = self.view("no-such-host.invalid", "--retry", "1s")
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "'no-such-host.invalid'", "not known")


if __name__ == "__main__":
    harness.main()
