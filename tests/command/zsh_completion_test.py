"""Completion by a zsh on a terminal: keys as a person presses them."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import manuals

START = rf"""
unsetopt zle_bracketed_paste prompt_cr prompt_sp 2>/dev/null; unset zle_bracketed_paste
fpath=({manuals.SHARE}/zsh/site-functions $fpath)
autoload -Uz compinit && compinit -u -D
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches:*' old-matches true
zstyle ':completion:all-matches:*' insert yes
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:*' hosts bigbox bigger
bindkey '^X1' all-matches
write-line() {{ print -r -- "$BUFFER" >>$answers; BUFFER= }}
zle -N write-line
bindkey '^X2' write-line
"""


class ZshCompletion(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "home").mkdir()
        (self.folder / "films").mkdir()
        (self.folder / "film.mkv").write_text("")
        self.shell = manuals.Shell([manuals.tool("zsh"), "-f", "-i"], START, self.folder, self.folder / "home")
        self.addCleanup(self.shell.close)

    def expect(self, line: str, *words: str):
        self.assertEqual(sorted(self.shell.completed(line)), sorted(words), line)

    def test_options_are_those_of_help(self):
        for program in manuals.PROGRAMS:
            with self.subTest(program):
                found = set(re.findall(r"^  '\([^)]*\)(--?[A-Za-z-]+)[=+[]", manuals.zsh_of(program).read_text(),
                                       re.MULTILINE))
                self.assertEqual(found, manuals.options_of(program))
                shown = {word.rstrip("=") for word in self.shell.completed(f"{program} --")}
                self.assertEqual(shown, {name for name in found if name.startswith("--")})

    def test_values(self):
        transports = manuals.values_of("rdsend", "--transport")
        self.assertLessEqual({"auto", "local", "rdma", "tcp"}, set(transports))
        self.expect("rdsend --transport ", *transports)
        self.expect("rdsend --transport=t", "--transport=tcp")
        self.expect("framewire-send pattern --delivery ", "every", "latest")
        self.expect("framewire-bench --operation stream,write_", "stream,write_imm,")
        self.expect("framewire-send gl:a", "gl:aurora")

    def test_files_and_hosts(self):
        self.expect("rdrecv film.", "film.mkv")
        self.expect("rdsend --key film.", "film.mkv")
        self.expect("rdsend bigb", "bigbox")
        self.expect("rdsend bigbox film.", "film.mkv")
        self.expect("rdrecv --from bigg", "bigger")

    def test_stages(self):
        """Each value begins with a host. The rest is a command on that host, which only that host can complete: the
        line stays unchanged."""
        self.expect("rdpipe bigb", "bigbox")
        self.expect("rdpipe -v --limit 5M bigbox:cat bigg", "bigger")
        self.expect("rdpipe bigbox:cat --transport ", *manuals.values_of("rdpipe", "--transport"))
        self.expect("rdpipe bigbox:cat --no-", "--no-checksum")
        self.expect("rdpipe -F film.", "film.mkv")
        self.expect("rdpipe --data-address bigg", "bigger")
        for stage in ("bigbox:", "bigbox:'<fil", "bigbox:'>>fil", "bigbox:fil", ":'<fil", ":fil", "big@"):
            self.expect(f"rdpipe {stage}", stage)

    def test_subcommands_and_their_options(self):
        self.expect("framewire ", "send", "view", "bench", "doctor", "key")
        self.expect("framewire view --full", "--fullscreen")
        self.expect("framewire send --delivery ", "every", "latest")
        self.expect("framewire key --import film.", "film.mkv")

    def test_syntax(self):
        for program in manuals.PROGRAMS:
            subprocess.run([manuals.tool("zsh"), "-n", manuals.zsh_of(program)], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
