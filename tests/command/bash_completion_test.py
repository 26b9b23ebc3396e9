"""Completion by a bash on a terminal: keys as a person presses them."""
import pathlib
import subprocess
import tempfile
import unittest

import manuals

START = r"""
bind '"\C-x1": insert-completions'
bind -x '"\C-x2": printf "%s\n" "$READLINE_LINE" >>$answers; READLINE_LINE='
bind 'set enable-bracketed-paste off'
"""


class BashCompletion(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.home = self.folder / "home"
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh" / "config").write_text("Host bigbox bigger\n  User me\nhost other *.lan\n")
        (self.home / ".ssh" / "known_hosts").write_text("bigknown,192.0.2.9 ssh-ed25519 AAAA\n"
                                                        "|1|x|y ssh-ed25519 AAAA\n[bigport]:22 k A\n")
        (self.folder / "film one.mkv").write_text("")
        (self.folder / "films").mkdir()
        self.shell = self.bash("".join(f". {manuals.bash_of(program)}\n" for program in manuals.PROGRAMS))

    def bash(self, sourced: str) -> manuals.Shell:
        shell = manuals.Shell([manuals.tool("bash"), "--norc", "--noprofile", "-i"], START + sourced, self.folder,
                              self.home)
        self.addCleanup(shell.close)
        return shell

    def expect(self, line: str, *words: str, shell=None):
        self.assertEqual(sorted((shell or self.shell).completed(line)), sorted(words), line)

    def test_options_are_those_of_help(self):
        for program in manuals.PROGRAMS:
            with self.subTest(program):
                self.expect(f"{program} -", *manuals.options_of(program))

    def test_values(self):
        transports = manuals.values_of("rdsend", "--transport")
        self.assertLessEqual({"auto", "local", "rdma", "tcp"}, set(transports))
        self.expect("rdsend --transport ", *transports)
        self.expect("rdsend --transport r", "rdma")
        self.expect("rdsend --transport=", "--transport=auto", *transports[1:])  # bash splits words at =
        self.expect("rdsend --transport=t", "--transport=tcp")
        self.expect("framewire-send pattern --delivery ", "every", "latest")
        self.expect("framewire-send --pix-fmt nv", "nv12")
        self.expect("framewire-bench --operation stream,write", "stream,write", "stream,write_imm")
        self.expect("rdsend --slots ")

    def test_words_with_colons(self):
        self.expect("framewire-send gl:", "gl:", "aurora", "helix", "orbit", "waves")  # and at :
        self.expect("framewire-send gl:au", "gl:aurora")
        self.expect("framewire-send gl:orbit pattern:s", "pattern:stamped")

    def test_files(self):
        self.expect("rdrecv fil", "film\\", "one.mkv", "films")
        self.expect("rdsend --key fil", "film\\", "one.mkv", "films")
        self.expect("rdsend --key=films", "--key=films")
        self.expect("rdsend -- bigbox films", "films")

    def test_hosts_then_files(self):
        self.expect("rdsend bigb", "bigbox")
        self.expect("rdsend -v --transport tcp bigb", "bigbox")
        self.expect("rdsend bigbox films", "films")
        self.expect("rdsend bigbox:5291 films", "films")
        self.expect("rdrecv --from bigg", "bigger")

    def test_stages(self):
        """Each value begins with a host. The rest is a command on that host, which only that host can complete: the
        line stays unchanged."""
        self.expect("rdpipe bigb", "bigbox")
        self.expect("rdpipe -v --limit 5M bigbox:cat bigg", "bigger")
        self.expect("rdpipe bigbox:'zfs send tank' other:cat bigg", "bigger")
        self.expect("rdpipe -- bigg", "bigger")
        self.expect("rdpipe bigbox:cat --transport ", *manuals.values_of("rdpipe", "--transport"))
        self.expect("rdpipe bigbox:cat --no-", "--no-checksum")
        self.expect("rdpipe -F fil", "film\\", "one.mkv", "films")
        self.expect("rdpipe --data-address bigg", "bigger")
        for stage in ("bigbox:", "bigbox:'<fil", "bigbox:'>>fil", "bigbox:fil", ":'<fil", ":fil", "big@"):
            self.expect(f"rdpipe {stage}", stage)

    def test_hosts_without_the_package(self):
        self.expect("rdsend big", "bigbox", "bigger", "bigknown")

    def test_hosts_with_the_package(self):
        package = pathlib.Path("/usr/share/bash-completion/bash_completion")
        self.assertTrue(package.exists(), "bash-completion is not installed; scripts/setup --tests installs it")
        with_package = self.bash(f". {package}\n. {manuals.bash_of('rdsend')}\n")
        found = with_package.completed("rdsend big")
        self.assertLessEqual({"bigbox", "bigger", "bigknown"}, set(found))

    def test_subcommands_and_their_options(self):
        self.expect("framewire ", "send", "view", "bench", "doctor", "key")
        # Completions are loaded on first use.
        alone = self.bash(f". {manuals.bash_of('framewire')}\n")
        self.expect("framewire v", "view", shell=alone)
        self.expect("framewire view --full", "--fullscreen", shell=alone)
        self.expect("framewire send --delivery ", "every", "latest", shell=alone)
        self.expect("framewire send gl:or", "gl:orbit", shell=alone)
        self.expect("framewire key --import films", "films", shell=alone)
        self.expect("framewire nonsense --", "--", shell=alone)  # unchanged

    def test_linters_agree(self):
        for program in manuals.PROGRAMS:
            subprocess.run([manuals.tool("bash"), "-n", manuals.bash_of(program)], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
