"""The binary interface of libframewire stays what programs were built with: its functions, structures and constants,
its name and version, and the libraries that it needs."""
import os
import pathlib
import re
import shutil
import tempfile
import unittest

import abi

LIBRARY = pathlib.Path(os.environ.get("FRAMEWIRE_BUILD", abi.ROOT / "build" / "release")) / "lib" / abi.SONAME
# TLS, and the libraries of the compiler. Those of RDMA are opened when RDMA is used.
NEEDED = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libssl.so.3", "libcrypto.so.3"}
LOADER = re.compile(r"ld-linux.*\.so\.\d")


class Baseline(unittest.TestCase):
    def setUp(self):
        for tool in ("abidw", "abidiff", "gcc"):
            self.assertIsNotNone(shutil.which(tool), f"{tool} is not installed; scripts/setup --tests installs it")
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.header = abi.HEADER.read_text(encoding="utf-8")

    def compared(self, header: str) -> tuple[int, str]:
        return abi.compare(abi.BASELINE, abi.describe(header, self.folder))

    def changed(self, before: str, after: str) -> tuple[int, str]:
        """The comparison of a header in which `before`, a regular expression that occurs once, is `after`."""
        header, count = re.subn(before, after, self.header, flags=re.DOTALL)
        self.assertEqual(count, 1, before)
        return self.compared(header)

    def test_the_header_has_it(self):
        status, report = self.compared(self.header)
        self.assertEqual(status, 0, f"{report}\nIf programs that are built already do not notice this change, let "
                                    "scripts/abi-baseline write a new baseline. Else undo it.")

    def test_a_function_that_is_removed_is_found(self):
        status, report = self.changed(r"FW_API fw_result fw_stream_drop\(fw_stream\* stream\);", "")
        self.assertTrue(status & abi.INCOMPATIBLE, report)
        self.assertRegex(report, r"1 Removed function:\s*\[D\] .*fw_stream_drop")

    def test_a_parameter_that_changes_is_found(self):
        status, report = self.changed(r"(fw_result fw_stream_wake\(fw_stream\* stream)\)", r"\1, int32_t which)")
        self.assertTrue(status & abi.CHANGED, report)
        self.assertIn("parameter 2 of type 'typedef int32_t' was added", report)

    def test_a_member_that_is_moved_is_found(self):
        status, report = self.changed(
            r"(  uint32_t width;[^\n]*\n)(  uint32_t height; [^\n]*\n)(  uint32_t plane_count;)", r"\2\1\3")
        self.assertTrue(status & abi.CHANGED, report)
        self.assertRegex(report, r"'uint32_t width' offset changed")
        self.assertRegex(report, r"'uint32_t height' offset changed")

    def test_a_constant_that_changes_is_found(self):
        status, report = self.changed(r"FW_ENDED = 5,", "FW_ENDED = 6,")
        self.assertTrue(status & abi.CHANGED, report)
        self.assertRegex(report, r"FW_ENDED\[106\]")

    def test_what_is_added_is_no_break(self):
        status, report = self.changed(r"FW_API const char\* fw_version\(void\);",
                                      "FW_API const char* fw_version(void);\nFW_API fw_result fw_more(void);")
        self.assertEqual(status, abi.CHANGED, report)
        self.assertRegex(report, r"0 Removed, 0 Changed, 1 Added function")


class Library(unittest.TestCase):
    def dynamic(self, kind: str) -> list[str]:
        return re.findall(rf"\({kind}\)[^\[]*\[(.+?)\]", abi.run("readelf", "-dW", LIBRARY).stdout)

    def test_its_name(self):
        self.assertEqual(self.dynamic("SONAME"), [abi.SONAME])

    def test_it_needs_few_libraries(self):
        self.assertEqual({name for name in self.dynamic("NEEDED") if not LOADER.fullmatch(name)}, NEEDED)

    def test_it_stays_loaded(self):
        self.assertRegex(abi.run("readelf", "-dW", LIBRARY).stdout, r"\(FLAGS_1\).*\bNODELETE\b")

    def test_it_exports_what_the_header_declares(self):
        declared = abi.functions(abi.HEADER.read_text(encoding="utf-8"))
        self.assertEqual(len(declared), len(set(declared)))
        lines = [line.split() for line in abi.run("readelf", "--dyn-syms", "-W", LIBRARY).stdout.splitlines()]
        exported = [fields[7] for fields in lines if len(fields) >= 8 and fields[6].isdigit()]
        self.assertEqual(sorted(exported), sorted(f"{name}@@{abi.VERSION_NODE}" for name in declared))

    def test_debian_knows_its_symbols(self):
        first, *symbols = abi.SYMBOLS.read_text(encoding="utf-8").splitlines()
        self.assertEqual(first, f"{abi.SONAME} libframewire0 #MINVER#")
        for symbol in symbols:
            self.assertRegex(symbol, rf"^ \w+@{abi.VERSION_NODE} \d+\.\d+\.\d+$")
        declared = abi.functions(abi.HEADER.read_text(encoding="utf-8"))
        self.assertEqual({symbol.split("@")[0].strip() for symbol in symbols}, {*declared, abi.VERSION_NODE})


if __name__ == "__main__":
    unittest.main(verbosity=2)
