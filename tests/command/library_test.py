"""libframewire-core, as it was built: what it exports, what it needs, and that the programs use it."""
import pathlib
import re
import subprocess
import unittest

import manuals

OURS = re.compile(r"((vtable|VTT|typeinfo|typeinfo name|guard variable) for |(virtual|non-virtual) thunk to )?"
                  r"framewire::")
# Debian's library packages are all that it needs: TLS, RDMA, and the checksum of test patterns.
NEEDED = {"ssl", "crypto", "ibverbs", "rdmacm", "xxhash", "stdc++", "m", "gcc_s", "c"}
# A library does not use the streams of its program, ends it, or changes its signals, locale or environment.
NOT_FOR_A_LIBRARY = re.compile(
    r"(stdin|stdout|stderr|v?f?printf|f?puts|putchar|perror|std::(cin|cout|cerr|clog|exit)|_?exit|quick_exit|"
    r"signal|sigaction|setlocale|putenv|setenv|unsetenv|f(d|re)?open|popen|system)(\(.*)?")


def symbols(binary: pathlib.Path, which: str) -> list[str]:
    """Names of dynamic symbols, without versions."""
    listed = subprocess.run([manuals.tool("nm"), "-D", "-C", which, binary], capture_output=True, text=True, check=True)
    lines = [re.fullmatch(r"[0-9a-f ]{16} (\w) (.+)", line) for line in listed.stdout.splitlines()]
    return [re.sub(r"@+[\w.]+$", "", line[2]) for line in lines if line and line[1] != "w"]


def needed(binary: pathlib.Path) -> list[str]:
    listed = subprocess.run([manuals.tool("objdump"), "-p", binary], capture_output=True, text=True, check=True)
    return re.findall(r"NEEDED +(\S+)", listed.stdout)


class Library(unittest.TestCase):
    def setUp(self):
        found = (manuals.BUILD / "lib").glob("libframewire-core.so.*")
        (self.library,) = (path for path in found if not path.is_symlink())

    def test_exports_only_what_is_ours(self):
        exported = symbols(self.library, "--defined-only")
        self.assertGreater(len(exported), 100)
        self.assertEqual([name for name in exported if not OURS.match(name)], [])

    def test_needs_few_libraries(self):
        libraries = {re.sub(r"^lib|\.so.*", "", name) for name in needed(self.library)}
        self.assertEqual(libraries - {"ld-linux-x86-64", "ld-linux-aarch64"}, NEEDED)

    def test_leaves_to_the_program_what_is_the_programs(self):
        for library in (self.library, manuals.BUILD / "lib" / "libframewire.so.0"):
            used = symbols(library, "--undefined-only")
            self.assertIn("sendmsg", used)
            self.assertEqual([name for name in used if NOT_FOR_A_LIBRARY.fullmatch(name)], [], library.name)

    def test_the_programs_use_it(self):
        exported = set(symbols(self.library, "--defined-only"))
        for program in manuals.PROGRAMS:
            self.assertIn(self.library.name, needed(manuals.BUILD / "bin" / program), program)
            used = symbols(manuals.BUILD / "bin" / program, "--undefined-only")
            self.assertTrue(exported.intersection(used), program)


if __name__ == "__main__":
    unittest.main(verbosity=2)
