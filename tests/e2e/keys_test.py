"""Keys: made, copied to other machines, and required at every entry; none appears on a command line."""
import os
import pathlib
import re
import stat
import subprocess

import harness


class Keys(harness.EndToEnd):
    def key(self, *arguments, **options) -> harness.Program:
        return self.start(harness.BIN / "framewire", "key", *arguments, **options)

    def make_key(self, name: str) -> pathlib.Path:
        self.ends(self.key("--file", self.file(name)))
        return self.file(name)

    def sender_with(self, *options) -> harness.Program:
        return self.send_on("pattern:stamped", "--size", "64x36", "--fps", "30", *options)

    def check_session(self, sender, viewer, line: str):
        self.ends(viewer)
        viewer.wait_line(line)
        sender.wait_line(line)
        sender.interrupt()
        self.ends(sender)
        self.checked_stats(sender, viewer)

    def check_refused(self, viewer, *wanted):
        self.ends(viewer, harness.REFUSED)
        self.one_message(viewer, *wanted)

    def test_a_key_is_made_once_and_for_one_user(self):
        self.ends(self.key())
        path = self.home / ".config" / "framewire" / "key"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode) & 0o077, 0)
        before = path.read_bytes()
        again = self.key()
        self.assertNotEqual(again.wait_end(), harness.OK)
        self.assertIn(str(path), again.text)
        self.assertEqual(path.read_bytes(), before)

    def test_no_folder_is_made_for_a_key_file_that_is_named(self):
        nowhere = self.file("nowhere")
        words = self.file("words")
        words.write_text("0" * 64)
        for path, why in ((nowhere / "key", "No such file"), (words / "key", "Not a directory")):
            for more in ((), ("--import", words)):
                program = self.start(harness.BIN / "framewire-key", "--file", path, *more)
                self.ends(program, harness.FAILED)
                self.one_message(program, rf"--file is '{re.escape(str(path))}', which cannot be written \({why}.*\); "
                                          "name a")
        self.assertFalse(nowhere.exists())

    def test_export_and_import_carry_it(self):
        made = self.make_key("made")
        self.addCleanup(os.umask, os.umask(0))
        exported = subprocess.run([str(harness.BIN / "framewire"), "key", "--file", str(made), "--export"], check=True,
                                  stdout=subprocess.PIPE, env=self.environment(), timeout=harness.WATCHDOG_S).stdout
        target = self.file("carried")
        for _ in range(2):  # the second time the key exists already
            done = subprocess.run([str(harness.BIN / "framewire"), "key", "--file", str(target), "--import", "-"],
                                  input=exported, env=self.environment(), timeout=harness.WATCHDOG_S, check=False)
            self.assertEqual(done.returncode, harness.OK)
        self.assertEqual(target.read_bytes(), made.read_bytes())
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o600)
        other = self.make_key("other")
        with other.open("rb") as source:
            refused = self.key("--file", target, "--import", "-", stdin=source)
            self.assertNotEqual(refused.wait_end(), harness.OK)
        self.assertEqual(target.read_bytes(), made.read_bytes())
        self.assertIn("--force", refused.text)

    def test_what_is_no_key_is_not_imported(self):
        for words in (b"", b"hello\n", b"0" * 63, b"g" * 64, os.urandom(1000)):
            self.file("words").write_bytes(words)
            with self.file("words").open("rb") as source:
                program = self.key("--file", self.file("none"), "--import", "-", stdin=source)
                self.ends(program, harness.FAILED)
            self.assertEqual(len(program.lines), 1, program.text)
            self.assertFalse(self.file("none").exists())

    def test_the_same_key_over_shared_memory(self):
        key = self.make_key("key")
        sender = self.sender_with("--key", key)
        viewer = self.view(sender.address, "--key", key, "--frames", "5")
        self.check_session(sender, viewer, "transport=local memory=host auth=psk control=tls1.3 frames=plaintext")

    def test_the_same_key_over_tcp_data(self):
        key = self.make_key("key")
        sender = self.sender_with("--key", key)
        viewer = self.view(sender.address, "--key", key, "--frames", "5", "--transport", "tcp")
        self.check_session(sender, viewer, "transport=tcp memory=host auth=psk control=tls1.3 frames=plaintext")

    # ---- --encrypt

    def test_encrypted_if_either_end_asks(self):
        key = self.make_key("key")
        for at_sender, at_viewer in ((["--encrypt"], []), ([], ["--encrypt"]), (["--encrypt"], ["--encrypt"])):
            with self.subTest(sender=at_sender, viewer=at_viewer):
                sender = self.sender_with("--key", key, *at_sender)
                viewer = self.view(sender.address, "--key", key, "--frames", "5", "--verify", *at_viewer)
                self.check_session(sender, viewer, "transport=tcp memory=host auth=psk control=tls1.3 frames=tls")
                viewer.wait_line(r"frames=tls \(auto: tcp; --encrypt works over tcp only\)")

    def test_encrypted_for_the_same_user_without_a_key(self):
        sender = self.sender_with("--encrypt", "--transport", "tcp")
        viewer = self.view(sender.address, "--frames", "5")
        self.check_session(sender, viewer, "transport=tcp memory=host auth=user control=unix frames=tls")

    def test_encrypted_to_a_viewer_that_listens(self):
        port = harness.free_port()
        viewer = self.view("--listen", f"127.0.0.1:{port}", "--frames", "5", "--encrypt")
        viewer.wait_line("waiting for a sender")
        sender = self.send("pattern:stamped", "--size", "64x36", "--fps", "30", "--to", f"127.0.0.1:{port}")
        self.check_session(sender, viewer, "transport=tcp memory=host auth=user control=unix frames=tls")

    def test_no_encryption_over_shared_memory(self):
        """A side that offers only shared memory cannot encrypt: both sides get an error."""
        sender = self.sender_with("--transport", "local")
        self.check_refused(self.view(sender.address, "--encrypt"), "the viewer asks", "tcp only",
                           "the sender offers local")
        sender.wait_line("warning: refused .*: the viewer asks for --encrypt, .*tcp only, and the sender offers local")
        sender = self.sender_with("--encrypt")
        self.check_refused(self.view(sender.address, "--transport", "local"), "the sender asks", "tcp only",
                           "the viewer takes local")
        sender.wait_line("warning: refused .*: the sender asks for --encrypt, .*tcp only, and the viewer takes local")

    def test_another_key(self):
        sender = self.sender_with("--key", self.make_key("one"))
        for transport in ("local", "tcp"):
            self.check_refused(self.view(sender.address, "--key", self.make_key(f"other-{transport}"),
                                         "--transport", transport), "key")
        viewer = self.view(sender.address, "--key", self.file("one"), "--frames", "5")
        self.check_session(sender, viewer, "auth=psk control=tls1.3")

    def test_a_viewer_without_the_key(self):
        sender = self.sender_with("--key", self.make_key("key"))
        self.check_refused(self.view(sender.address), "key", "--key FILE")

    def test_a_sender_without_the_key(self):
        sender = self.sender_with()
        self.check_refused(self.view(sender.address, "--key", self.make_key("key")), "no key", "framewire key")

    def test_a_key_that_is_found_is_not_needed_by_the_same_user(self):
        self.ends(self.key())
        sender = self.sender_with()
        viewer = self.view(sender.address, "--frames", "5")
        self.check_session(sender, viewer, "transport=local memory=host auth=user control=unix")

    def test_key_files_that_cannot_be_used(self):
        missing = self.file("missing")
        loose = self.make_key("loose")
        loose.chmod(0o644)
        broken = self.make_key("broken")
        broken.write_text("hello\n")
        for path in (missing, loose, broken):
            for program in (self.send("pattern", "--size", "64x36", "--listen", "127.0.0.1:0", "--key", path),
                            self.view("127.0.0.1:1", "--key", path)):
                self.assertIn(program.wait_end(), (harness.FAILED, harness.REFUSED))
                self.one_message(program, re.escape(str(path)))

    def test_beyond_this_machine_only_with_a_key(self):
        sender = self.send("pattern", "--size", "64x36", "--listen", "*:0")
        self.ends(sender, harness.REFUSED)
        self.one_message(sender, r"'\*:0'", "framewire key", "--insecure")

    def test_no_key_in_arguments_or_environment(self):
        key = self.make_key("key")
        secret = key.read_text().strip()
        sender = self.sender_with("--key", key)
        for name in ("cmdline", "environ"):
            self.assertNotIn(secret.encode(), pathlib.Path(f"/proc/{sender.pid}/{name}").read_bytes())
        self.assertNotIn(secret, sender.text)


if __name__ == "__main__":
    harness.main()
