"""Manual pages are valid, and list exactly the options and values that the programs accept."""
import pathlib
import re
import subprocess
import unittest

import manuals

# (program, arguments before the option, option): each program refuses a wrong value with an error that lists all valid
# values.
CLOSED = [("framewire-send", ["pattern"], "--transport"), ("framewire-send", ["pattern"], "--memory"),
          ("framewire-send", ["pattern"], "--delivery"), ("framewire-send", ["pattern"], "--pix-fmt"),
          ("framewire-view", [], "--delivery"), ("framewire-bench", [], "--transport"),
          ("framewire-bench", [], "--operation"),
          ("framewire-doctor", [], "--transport"), ("rdsend", ["box"], "--transport"), ("rdrecv", [], "--memory")]


def rendered(program: str) -> str:
    run = subprocess.run([manuals.tool("man"), "-l", manuals.page_of(program)], check=True, capture_output=True,
                         text=True, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
    return re.sub(r".\x08", "", run.stdout)


class ManualPages(unittest.TestCase):
    def test_every_program_has_one(self):
        self.assertGreaterEqual(len(manuals.PROGRAMS), 8)
        for program in manuals.PROGRAMS:
            self.assertTrue(manuals.page_of(program).is_file(), program)

    def test_options_are_those_of_help(self):
        for program in manuals.PROGRAMS:
            with self.subTest(program):
                text = rendered(program)
                options = text[text.index("\nOPTIONS\n"):text.index("\nEXAMPLES\n")]
                labels = re.findall(r"^ {7}(-[^ ].*)$", options, re.MULTILINE)
                shown = {name for label in labels for name in manuals.OPTION.findall(label.split("  ")[0])}
                shown = {name for name in shown if re.search(rf"^ {{7}}(-\w, )?{name}\b", options, re.MULTILINE)}
                self.assertEqual(shown, manuals.options_of(program))
                self.assertGreaterEqual(len(shown), 3)

    @unittest.skipUnless("framewire-view" in manuals.PROGRAMS, "framewire-view is not built")
    def test_the_readme_has_the_keys_of_the_window(self):
        readme = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
        table = readme[readme.index("\n### Keys and mouse\n"):].split("\n\n")[1]
        help_text = manuals.help_of("framewire-view")
        keys = re.findall(r"^  ([A-Z])(?:, Esc)?  +\w", help_text[help_text.index("In the window:"):].split("\n\n")[0],
                          re.MULTILINE)
        self.assertGreaterEqual(len(keys), 4, help_text)
        self.assertEqual(set(re.findall(r"^\| ([A-Z])(?:, Esc)? \|", table, re.MULTILINE)), set(keys))

    def test_sections(self):
        for program in manuals.PROGRAMS:
            found = re.findall(r"^([A-Z][A-Z ]+)$", rendered(program), re.MULTILINE)
            for wanted in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
                self.assertIn(wanted, found, program)

    def test_no_tool_warns(self):
        for program in manuals.PROGRAMS:
            page = str(manuals.page_of(program))
            for command in (["groff", "-ww", "-man", "-Tutf8", page], ["groff", "-ww", "-man", "-Tps", page],
                            ["man", "--warnings", "-l", page], ["mandoc", "-Tlint", "-Wstyle", page]):
                with self.subTest(" ".join(command)):
                    run = subprocess.run([manuals.tool(command[0]), *command[1:]], capture_output=True)
                    said = run.stderr + (run.stdout if command[0] == "mandoc" else b"")
                    self.assertEqual(said.decode(), "")
                    self.assertEqual(run.returncode, 0)

    def test_typed_characters_stay_ascii(self):
        """Text to copy into a shell has no typographic hyphens, quotes or tildes."""
        for program in manuals.PROGRAMS:
            self.assertNotRegex(rendered(program), "[\u2010\u2011\u2018\u2019\u201c\u201d\u2212\u02c6\u02dc]", program)

    def test_pages_refer_to_pages_that_exist(self):
        for program in manuals.PROGRAMS:
            text = rendered(program)
            for name in re.findall(r"([a-z-]+)\(1\)", text[text.index("SEE ALSO"):]):
                self.assertIn(name, manuals.PROGRAMS, program)

    def test_subcommands_are_named_as_they_name_themselves(self):
        text = manuals.help_of("framewire")
        listed = re.findall(r"^  ([a-z]+) +(.*)$", text[text.index("Subcommands:"):text.index("Options:")],
                            re.MULTILINE)
        self.assertGreaterEqual(len(listed), 5)
        for name, purpose in listed:
            summary = manuals.help_of(f"framewire-{name}").split("\n\n")[1].replace("\n", " ")
            self.assertEqual(purpose[0].upper() + purpose[1:] + ".", summary)

    def test_values_are_those_that_the_program_takes(self):
        for program, before, option in CLOSED:
            if program not in manuals.PROGRAMS:
                continue
            with self.subTest(f"{program} {option}"):
                run = subprocess.run([manuals.BUILD / "bin" / program, *before, option, "pigeon"], capture_output=True,
                                     text=True)
                self.assertEqual(run.returncode, 2, run.stderr)
                taken = re.search(r"it takes (.*?)(?:, with commas.*)?$", run.stderr.strip()).group(1)
                completed = re.search(rf"\[{option}\]=',?([^']*)'", manuals.bash_of(program).read_text()).group(1)
                words = {word for word in re.split(r", | or | and ", taken) if word == word.lower()}  # not cuda:GPU
                self.assertEqual(words, set(completed.split()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
