#!/usr/bin/env python3
"""The lints find what they should, and accept what is right."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import checked
import clang_tidy
import fault_patches
import format as format_lint
import headers_alone
import images
import repository
import include_direction
import listed_tests
import messages
import pixel_format_places
import tree


def includes(path: str, line: str) -> list[str]:
    return include_direction.findings_in(path, line + "\n")


class ListedTests(unittest.TestCase):
    @staticmethod
    def findings(cmake: str, *tests: str) -> list[str]:
        folder = pathlib.PurePath("tests/base")
        return listed_tests.findings_in({folder / "CMakeLists.txt": cmake} | {folder / name: "" for name in tests})

    def test_what_is_named_is_run(self):
        cmake = "framewire_test(base SOURCES a_test.cpp)\nframewire_e2e(b)\n"
        self.assertEqual(self.findings(cmake, "a_test.cpp", "b_test.py", "help.cpp"), [])

    def test_what_is_not_named_is_found(self):
        for cmake in ("", "framewire_test(base SOURCES aa_test.cpp)\n", "# a_test.cpp\n"):
            self.assertEqual(len(self.findings(cmake, "a_test.cpp")), 1, cmake)

    def test_what_may_be_left_out_silently_is_found(self):
        self.assertEqual(len(self.findings("if(EXISTS a_test.cpp)\nframewire_test(a SOURCES a_test.cpp)\nendif()\n",
                                           "a_test.cpp")), 1)


class Images(unittest.TestCase):
    @staticmethod
    def findings(text: str, path: str = "docs/a.md", made=("docs/images/a.png",), kept=("docs/images/a.png",)):
        return images.findings_in({pathlib.PurePath(path): text}, set(made), set(kept))

    def test_what_is_there_and_made_is_right(self):
        for text, path in (("![a b](images/a.png)", "docs/a.md"), ("![](docs/images/a.png)", "README.md"),
                           ('<img width="9" src="../images/a.png">', "docs/decisions/a.md"),
                           ("![](https://elsewhere/b.png) ![](images/a.png)", "docs/a.md")):
            self.assertEqual(self.findings(text, path), [], text)

    def test_what_is_missing_is_found(self):
        self.assertEqual(len(self.findings("![](images/a.png)", kept=())), 1)
        self.assertEqual(len(self.findings("![](images/a.png)", made=())), 1)
        self.assertEqual(len(self.findings("![](images/a.png) ![](images/b.png)")), 2)
        self.assertEqual(len(self.findings("images/a.png")), 1, "it is shown by no document")


class Messages(unittest.TestCase):
    @staticmethod
    def findings(code: str, path: str = "sender/options.cpp") -> list[str]:
        return messages.findings_in(pathlib.PurePath(path), code)

    def test_short_ones_are_right(self):
        short = 'throw Error::usage("--fps is " + quote(text) + "; it takes a number (as in 60)");'
        self.assertEqual(self.findings(short), [])
        self.assertEqual(self.findings(f'log("{"word " * 30}");'), [], "no error")

    def test_long_ones_are_found(self):
        half = "word " * 13
        for code in (f'throw Error::failed("{half}" + name() + "{half}");',
                     f'Error(ExitStatus::failed, "{half}"\n "{half}")'):
            self.assertEqual(len(self.findings(code)), 1, code)
        self.assertEqual(len(self.findings(f'finding.text = "{half} {half}";', "doctor/check_host.cpp")), 1)
        self.assertEqual(self.findings(f'finding.text = "{half}. {half}";', "doctor/check_host.cpp"), [],
                         "two sentences")

    def test_odd_words_are_found(self):
        self.assertEqual(len(self.findings('Error::usage("frames go "\n  "in the clear");')), 1)


class IncludeDirection(unittest.TestCase):
    def test_lets_includes_point_down(self):
        for path, line in [
            ("frame/colour.cpp", '#include "base/error.hpp"'),
            ("frame/colour.cpp", '#include "frame/colour.hpp"'),
            ("frame/colour.cpp", "#include <vector>"),
            ("transport/session/data_link.cpp", '#include "transport/links.hpp"'),
            ("transport/tcp/tcp_sender.cpp", '#include "transport/link.hpp"'),
            ("sender/sources/gl/shader_scene.cpp", "#include <glad/gl.h>"),
            ("media/libav.hpp", "#include <libavcodec/avcodec.h>"),
            ("transport/session/messages.cpp", "#include <nlohmann/json.hpp>"),
            ("transport/session/messages.hpp", "#include <nlohmann/json_fwd.hpp>"),
            ("viewer/window.cpp", "#include <GLFW/glfw3.h>"),
            ("tests/viewer/fit_test.cpp", '#include "viewer/fit.hpp"'),
            ("tests/contract/link_pairs.cpp", '#include "transport/local/local_sender.hpp"'),
            ("tests/contract/link_pairs.cpp", '#include "tests/contract/link_pairs.hpp"'),
            ("tests/sender/gl_scene_test.cpp", '#include "tests/pixels/gl_test.hpp"'),
        ]:
            self.assertEqual(includes(path, line), [], f"{path}: {line}")

    def test_refuses_includes_that_point_up_or_across(self):
        for path, line in [
            ("base/text.cpp", '#include "frame/colour.hpp"'),
            ("frame/colour.hpp", '#include "memory/host_block.hpp"'),
            ("transport/pool.cpp", '#include "transport/tcp/tcp_sender.hpp"'),
            ("transport/tcp/tcp_sender.cpp", '#include "transport/local/local_sender.hpp"'),
            ("transport/local/local_sender.cpp", '#include "transport/session/messages.hpp"'),
            ("media/png.cpp", '#include "gl/gl.hpp"'),
            ("sender/program.cpp", '#include "viewer/program.hpp"'),
            ("viewer/program.cpp", '#include "sender/source.hpp"'),
            ("sender/sources/gl/shader_scene.cpp", '#include "media/png.hpp"'),
            ("tests/viewer/fit_test.cpp", '#include "sender/source.hpp"'),
            ("tests/media/y4m_test.cpp", '#include "tests/pixels/gl_test.hpp"'),
            ("viewer/program.cpp", '#include "program.hpp"'),
            ("new_folder/a.cpp", '#include "base/error.hpp"'),
        ]:
            self.assertEqual(len(includes(path, line)), 1, f"{path}: {line}")

    def test_lets_bench_include_one_header_of_the_rdma_link(self):
        for path in ("bench/verbs_rows.cpp", "bench/verbs/verbs_sends.hpp", "tests/bench/verbs_receives_test.cpp"):
            self.assertEqual(includes(path, '#include "transport/rdma/work_requests.hpp"'), [], path)
            for header in ("connection", "memory_region", "queue_pair", "verbs"):
                self.assertEqual(len(includes(path, f'#include "transport/rdma/{header}.hpp"')), 1, f"{path}: {header}")
        self.assertEqual(includes("transport/rdma/connection.hpp", '#include "transport/rdma/work_requests.hpp"'), [])
        umbrella = includes("transport/rdma/work_requests.hpp", '#include "transport/rdma/connection.hpp"')
        self.assertEqual(len(umbrella), 1, "a public header stands below the rest of its folder")

    def test_holds_the_order_of_the_table_in_the_architecture(self):
        page = (repository.root() / "ARCHITECTURE.md").read_text(encoding="utf-8")
        self.assertEqual(include_direction.table_findings(page), [])
        lines = page.splitlines(keepends=True)
        (shaders,) = (number for number, line in enumerate(lines) if line.startswith("| `shaders/` |"))
        swapped = "".join([*lines[:shaders], lines[shaders + 1], lines[shaders], *lines[shaders + 2:]])
        self.assertEqual(include_direction.table_findings(swapped),
                         ["ARCHITECTURE.md's table has gl/ above shaders/, which it may include"])
        self.assertEqual(include_direction.table_findings("".join([*lines[:shaders], *lines[shaders + 1:]])),
                         ["ARCHITECTURE.md's table lacks shaders/"])
        self.assertEqual(include_direction.table_findings(page + "\n| `extra/` | new |\n"),
                         ["ARCHITECTURE.md's table has extra/, which this lint does not know"])

    def test_lets_sessions_name_no_link(self):
        line = "  return kind == LinkKind::rdma;\n"
        self.assertEqual(len(include_direction.findings_in("transport/session/handshake.cpp", line)), 1)
        self.assertEqual(include_direction.findings_in("bench/verbs_rows.cpp", line), [])

    def test_a_session_has_no_member_named_after_a_link(self):
        for line in ("  listen_for(wanted, listen.rdma_listen_address);\n",
                     "  bool rdma_is_up = false;\n", "  // as in rdma_port\n"):
            findings = include_direction.findings_in("transport/session/session_acceptor.cpp", line)
            self.assertEqual(len(findings), 1, line)
            self.assertEqual(include_direction.findings_in("transport/rdma/listener.cpp", line), [])
        neutral = "  options.native_timeout_ns = 0;\n"
        self.assertEqual(include_direction.findings_in("transport/session/data_link.cpp", neutral), [])

    def test_lets_one_file_list_the_links(self):
        line = '#include "transport/rdma/rdma_provider.hpp"'
        self.assertEqual(includes("transport/links.cpp", line), [])
        for path in ("transport/link_kinds.cpp", "transport/session/data_link.cpp", "transport/tcp/tcp_provider.cpp"):
            self.assertEqual(len(includes(path, line)), 1, path)

    def test_keeps_foreign_and_heavy_headers_in_their_places(self):
        for path, line in [
            ("transport/tcp/tcp_sender.cpp", "#include <infiniband/verbs.h>"),
            ("viewer/recorder.cpp", "#include <libavformat/avformat.h>"),
            ("sender/program.cpp", "#include <glad/gl.h>"),
            ("gl/gl.cpp", "#include <GLFW/glfw3.h>"),
            ("transport/pool.cpp", "#include <cuda.h>"),
            ("viewer/program.cpp", "#include <openssl/ssl.h>"),
            ("transport/session/messages.hpp", "#include <nlohmann/json.hpp>"),
            ("viewer/options.hpp", "#include <CLI/CLI.hpp>"),
            ("tests/viewer/fit_test.cpp", "#include <libavutil/opt.h>"),
        ]:
            self.assertEqual(len(includes(path, line)), 1, f"{path}: {line}")


class LongLines(unittest.TestCase):
    @staticmethod
    def findings(name: str, text: str) -> list[str]:
        return format_lint.long_lines(pathlib.PurePosixPath(name), text)

    def test_lets_120_columns_and_urls_pass(self):
        self.assertEqual(self.findings("tests/a_test.py", "x" * 120 + "\n"), [])
        self.assertEqual(self.findings("scripts/common.sh", "# https://example.org/" + "x" * 120 + "\n"), [])

    def test_finds_longer_lines_of_python_and_shell(self):
        for name, first in (("tests/a_test.py", ""), ("scripts/common.sh", ""), ("scripts/go", "#!/usr/bin/env bash\n"),
                            ("scripts/lab", "#!/bin/busybox sh\n"), ("scripts/rows", "#!/usr/bin/env python3\n")):
            found = self.findings(name, f"{first}echo\n{'word ' * 24}!\n")
            self.assertEqual(found, [f"{name}:{3 if first else 2}: 121 columns, more than 120"])

    def test_leaves_other_files_to_other_lints(self):
        for name in ("docs/a.md", "base/a.cpp", "LICENSE", "scripts/words"):
            self.assertEqual(self.findings(name, "word " * 30 + "\n"), [], name)


class Tree(unittest.TestCase):
    @staticmethod
    def findings(name: str, text: str, is_executable: bool = False) -> list[str]:
        return tree.findings_in(pathlib.PurePosixPath(name), text, is_executable)

    def test_lets_good_files_pass(self):
        self.assertEqual(self.findings("base/a.hpp", "// A.\n#pragma once\nint session_one();\n"), [])
        self.assertEqual(self.findings("scripts/go", "#!/usr/bin/env bash\n", True), [])
        self.assertEqual(self.findings("LICENSE", "line\n" * 900), [])
        self.assertEqual(self.findings("docs/a.md", "| " + "cell " * 23 + "|\n"), [])

    def test_finds_what_is_wrong(self):
        for name, text, is_executable in [
            ("base/a.cpp", "int a;\n" * 501, False),
            ("base/a.hpp", "int a;\n", False),
            ("base/a.cpp", "int a;", False),
            ("scripts/go", "#!/usr/bin/env bash\n", False),
            ("base/a.cpp", "int a;\n", True),
            ("docs/a.md", "see /w" + "ork/main\n", False),
            ("docs/a.md", "word " * 25 + "\n", False),
            ("docs/a.md", "| " + "cell " * 24 + "|\n", False),
            ("docs/a.md", "see iss" + "ue 2\n", False),
            ("base/a.cpp", "// TO" + "DO: more\n", False),
        ]:
            self.assertEqual(len(self.findings(name, text, is_executable)), 1, name + ": " + text[:40])

    def test_finds_what_a_forked_child_would_keep(self):
        for line in ("FileDescriptor file(::open(name, 0));", "return FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 3));",
                     ": epoll_(::epoll_create1(EPOLL_CLOEXEC)) {", "fd_.reset(::socket(AF_UNIX, SOCK_STREAM, 0));",
                     "std::ifstream file(name);"):
            self.assertEqual(len(self.findings("transport/a.cpp", line + "\n")), 1, line)
            self.assertEqual(self.findings("viewer/a.cpp", line + "\n"), [], "a program that forks by itself alone")
        for line in ("const auto file = FileDescriptor::from([&] { return ::open(name, 0); });",
                     "return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};", 'handle_(::dlopen("a.so", 0))'):
            self.assertEqual(self.findings("base/a.cpp", line + "\n"), [], line)

    def test_finds_what_the_architecture_names_in_vain(self):
        top = pathlib.Path(__file__).resolve().parents[2]
        self.assertEqual(tree.missing_paths(top, "see `tests/lint/tree.py` and base/error.hpp"), [])
        self.assertEqual(len(tree.missing_paths(top, "see `tests/lint/gone.py`")), 1)


    def test_names_of_our_own_do_not_come_back(self):
        for line in ("struct Stranger {", "accept_stranger(fd);", "two strangers", "reader.let_go();",
                     "void letGo();", "TEST(Queues, AreLetGo)"):
            self.assertEqual(len(tree.odd_names_in(pathlib.PurePath("base/error.hpp"), line)), 1, line)
        for line in ("they let go", "a warehouse", "a guesthouse", "estranged", "CHANGELOG"):
            self.assertEqual(tree.odd_names_in(pathlib.PurePath("base/error.hpp"), line), [], line)
        self.assertEqual(tree.odd_names_in(pathlib.PurePath("CHANGELOG.md"), "strangers"), [])

    def test_a_class_that_two_headers_define_is_found(self):
        file = "namespace framewire {\n\nclass File final : public Base {\n};\n\n}  // namespace framewire\n"
        inner = "namespace framewire {\nnamespace kinds {\nstruct File {\n}\n}  // namespace kinds\n"
        uses = "namespace framewire {\nclass File;\n}  // namespace framewire\n"
        self.assertEqual(tree.classes_defined_twice({"a/file.hpp": file, "b/kinds.hpp": inner, "b/uses.hpp": uses}), [])
        self.assertEqual(tree.classes_defined_twice({"a/file.hpp": file, "b/file.hpp": file}),
                         ["b/file.hpp:3: a/file.hpp has a class framewire::File, too"])

    def test_a_source_without_its_header_is_found(self):
        headers = {"doctor/check.hpp", "base/error.hpp"}
        right = {"doctor/check_host.cpp": "", "base/error.cpp": "", "bytes/rdsend_main.cpp": "int main(int argc",
                 "tests/a_test.cpp": ""}
        self.assertEqual(tree.without_header(right, headers), [])
        for path in ("base/errors.cpp", "doctor/checks_host.cpp", "check.cpp", "base/check_host.cpp"):
            self.assertEqual(tree.without_header({path: "  int main(\n"}, headers), [f"{path}: no header has its name"])


class ClangTidy(unittest.TestCase):
    def test_says_a_finding_in_a_header_once(self):
        finding = "a.hpp:1:2: error: bad [check]\nint a;\n    ^\na.hpp:1:2: note: why"
        outputs = [f"--- a.cpp\n{finding}", f"--- b.cpp\n{finding}\nb.cpp:3:1: error: worse [check]"]
        self.assertEqual(clang_tidy.distinct_findings(outputs), [finding, "b.cpp:3:1: error: worse [check]"])

    def test_knows_what_is_compiled_together(self):
        with tempfile.TemporaryDirectory() as name:
            top = pathlib.Path(name)
            unit = top / "build" / "unity_0_cxx.cxx"
            unit.parent.mkdir()
            unit.write_text(f'#include "{top}/base/a.cpp"\n#include "{top}/build/made.cpp"\n', encoding="utf-8")
            self.assertEqual(clang_tidy.sources_of(unit, top), {"base/a.cpp"})
            self.assertEqual(clang_tidy.sources_of(top / "base" / "b.cpp", top), {"base/b.cpp"})
            self.assertEqual(clang_tidy.sources_of(top / "build" / "made.cpp", top), set())

    def test_finds_what_is_wrong_in_a_source_that_is_compiled_with_others(self):
        with tempfile.TemporaryDirectory() as name:
            top = pathlib.Path(name)
            (top / "base").mkdir()
            (top / "base" / "a.cpp").write_text("int Wrong_name() { return 0; }\n", encoding="utf-8")
            unit = top / "unity_0_cxx.cxx"
            unit.write_text(f'#include "{top}/base/a.cpp"\n', encoding="utf-8")
            rules = repository.root() / ".clang-tidy"
            done = subprocess.run([*clang_tidy.tidy_program(top), f"--config-file={rules}", unit, "--", "-std=c++20"],
                                  capture_output=True, text=True, check=False)
        self.assertIn("a.cpp:1:5: error: invalid case style for function", done.stdout, done.stderr)

    def test_says_what_it_does_not_understand_whole(self):
        self.assertEqual(clang_tidy.distinct_findings(["--- a.cpp\ncannot run"]), ["--- a.cpp\ncannot run"])

    def test_looks_at_own_headers_and_at_what_comes_of_the_systems_templates(self):
        with tempfile.TemporaryDirectory() as name:
            top = pathlib.Path(name)
            (top / "base").mkdir()
            (top / "base" / "a.hpp").write_text("template <typename T>\nT* none() {\n  return 0;\n}\n",
                                                encoding="utf-8")
            source = top / "a.cpp"
            source.write_text('#include <algorithm>\n#include <string>\n#include <vector>\n#include "base/a.hpp"\n'
                              "int Wrong_name(std::string s, std::vector<std::string> all) {\n"
                              "  all.push_back(std::move(s));\n"
                              "  std::for_each(all.begin(), all.end(), [&](const auto& one) { s += one; });\n"
                              "  return none<int>() != nullptr;\n}\n",
                              encoding="utf-8")
            rules = repository.root() / ".clang-tidy"
            done = subprocess.run([*clang_tidy.tidy_program(top), f"--config-file={rules}", source, "--",
                                   "-std=c++20", f"-I{top}"],
                                  capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        for place in ("a.hpp:3:10: error: use nullptr [modernize-use-nullptr",
                      "a.cpp:5:5: error: invalid case style for function",
                      "a.cpp:7:42: error: 's' used after it was moved"):
            self.assertIn(place, done.stdout, done.stderr)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        (self.top / "base").mkdir()

    def write(self, name: str, text: str) -> None:
        (self.top / name).write_text(text, encoding="utf-8")

    def test_a_new_pixel_format_is_named_where_the_architecture_says(self):
        for folder in ("frame", "media", "gl", "tests/frame"):
            (self.top / folder).mkdir(parents=True)
        self.write("ARCHITECTURE.md", "To add a pixel format, touch `frame/pixel_format.hpp`, `media/av_format.cpp` "
                                      "and\n`media/y4m.cpp`.\n\n`gl/a.cpp`\n")
        self.write("frame/pixel_format.hpp", "enum class PixelFormat {\n  rgba = 1,\n  v210 = 2,\n};\n")
        self.write("media/av_format.cpp", "v210")
        self.write("tests/frame/a_test.cpp", "v210")
        self.assertEqual(pixel_format_places.findings_in(self.top), [], "y4m has no name for it")
        self.write("media/y4m.cpp", "v210")
        self.assertEqual(pixel_format_places.findings_in(self.top), [], "y4m has a name for it")
        self.write("gl/a.cpp", "v210")
        self.write("media/av_format.cpp", "rgba")
        self.assertEqual(len(pixel_format_places.findings_in(self.top)), 2)

    def test_a_header_is_shown_by_a_source_that_begins_with_it(self):
        self.write("base/a.hpp", "#pragma once\n")
        header = pathlib.Path("base/a.hpp")
        self.assertFalse(headers_alone.is_shown_by_build(self.top, header))
        self.write("base/a.cpp", '// A.\n#include "base/a.hpp"\n\n#include <vector>\n')
        self.assertTrue(headers_alone.is_shown_by_build(self.top, header))
        self.write("base/a.cpp", '#include <vector>\n#include "base/a.hpp"\n')
        self.assertFalse(headers_alone.is_shown_by_build(self.top, header))

    def test_what_passed_is_checked_again_only_when_a_header_below_has_changed(self):
        self.write("base/b.hpp", "int b;\n")
        self.write("base/a.hpp", '#include "base/b.hpp"\n')
        self.write("base/a.cpp", '#include "base/a.hpp"\n')
        command = {"base/a.cpp": ["sh", "-c", "echo run >> runs"]}
        runs = self.top / "runs"
        for expected in (1, 1):
            self.assertEqual(checked.run_all(self.top, self.top / "seen", command, ""), [])
            self.assertEqual(len(runs.read_text().split()), expected)
        self.write("base/b.hpp", "int c;\n")
        self.assertEqual(checked.run_all(self.top, self.top / "seen", command, ""), [])
        self.assertEqual(len(runs.read_text().split()), 2)

    def test_a_fault_that_no_longer_fits_is_found(self):
        (self.top / fault_patches.FOLDER).mkdir(parents=True)
        self.write("tests/sim/faults/a.patch", "Adds one.\n--- a/base/a.cpp\n+++ b/base/a.cpp\n@@ -1 +1 @@\n-1\n+2\n")
        for text, count in (("1\n", 0), ("3\n", 1)):
            self.write("base/a.cpp", text)
            self.assertEqual(len(fault_patches.findings_in(self.top)), count, text)

    def test_what_failed_is_said_and_checked_again(self):
        self.write("base/a.cpp", "\n")
        command = {"base/a.cpp": ["sh", "-c", "echo wrong; exit 1"]}
        for _ in range(2):
            findings = checked.run_all(self.top, self.top / "seen", command, "")
            self.assertEqual(len(findings), 1)
            self.assertIn("wrong", findings[0])
        self.assertEqual(os.listdir(self.top / "seen"), [])


if __name__ == "__main__":
    unittest.main()
