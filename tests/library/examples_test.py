"""The examples are built as their users build them, against an installed library and against the unpacked packages, and
exchange frames with each other and with the programs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness
import pictures

BUILD = pathlib.Path(os.environ.get("FRAMEWIRE_BUILD", harness.REPOSITORY / "build" / "release"))
DOCUMENT = harness.REPOSITORY / "docs" / "library.md"
EXAMPLES = harness.REPOSITORY / "examples" / "c"
# The line in an example's first comment by which it is built.
COMPILATION = re.compile(r"^(?: \*|//) +((?:cc|c\+\+) .+)$", re.MULTILINE)
PROGRAMS = {"animated_picture", "receive_png", "opengl_render", "event_loop"}
SIZE = (640, 360)  # of animated_picture


def run(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def install_to_prefix(folder: pathlib.Path) -> pathlib.Path:
    run("cmake", "--install", BUILD, "--component", "local", "--prefix", folder / "prefix")
    return folder / "prefix"


def unpack_packages(folder: pathlib.Path) -> pathlib.Path:
    """What libframewire0 and libframewire-dev would put under /usr."""
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder / "packages",
        "-D", "CPACK_COMPONENTS_ALL=library;development")
    packages = list((folder / "packages").glob("*.deb"))
    if {package.name.split("_")[0] for package in packages} != {"libframewire0", "libframewire-dev"}:
        raise AssertionError(f"these packages were made: {packages}")
    for package in packages:
        run("dpkg-deb", "-x", package, folder / "root")
    return folder / "root" / "usr"


class BuiltExamples(harness.EndToEnd):
    """The programs of the examples, as `build_all` has built them."""

    @classmethod
    def build_all(cls, install, sources):
        """`install` puts the library into a folder, and returns the prefix. `sources`: the examples, of that prefix."""
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.prefix = install(pathlib.Path(temporary.name))
        cls.sources, cls.built = sources(cls.prefix), pathlib.Path(temporary.name) / "built"
        run("cmake", "-S", cls.sources, "-B", cls.built, f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        run("cmake", "--build", cls.built)

    def example(self, name: str, *arguments, **options) -> harness.Program:
        return self.start(self.built / name, *arguments, **options)

    def serve(self, name: str) -> tuple[harness.Program, str]:
        """Starts an example that listens; returns it and its address."""
        address = f"127.0.0.1:{harness.free_port()}"
        return self.example(name, address), address

    def received(self, source: str, count: int = 3) -> list[pictures.Picture]:
        """So many pictures as receive_png writes them."""
        prefix = self.file(source.rpartition("/")[2])
        self.ends(self.example("receive_png", source, count, prefix))
        return [pictures.read_png(pathlib.Path(f"{prefix}-{number:03}.png")) for number in range(count)]

    def stop(self, program: harness.Program):
        program.interrupt()
        self.ends(program)
        self.assertEqual(program.text, "")

    def check_rings(self, picture: pictures.Picture):
        """Red rises to the right, green downwards, and the rings are lines of light over both."""
        self.assertEqual((picture.width, picture.height), SIZE)
        self.assertGreater(picture.colours(), 1000)
        self.assertEqual(picture.at(0, 0)[:2], (0, 0))
        self.assertGreater(max(picture.at(x / 100, 0.02)[0] for x in range(80, 100)), 150)
        self.assertGreater(max(picture.at(0.02, y / 100)[1] for y in range(80, 100)), 150)

    def check_that_one_loop_sends_and_receives(self):
        output = self.file("output")
        port = harness.free_port()
        with output.open("w") as file:
            program = self.example("event_loop", f"127.0.0.1:{port}", stdout=file)

        def said(pattern: str):
            harness.wait_until(lambda: re.search(pattern, output.read_text(), re.M), f"/{pattern}/ of event_loop")
        said(r"^transport=local ")
        said(r'^viewer 1 says \{"greeting": ?"hello"\}$')
        said(r'^the sender says \{"answer": ?"welcome"\}$')
        said(r"^frame \d+ has 320 x 240 pixels$")

        def has_moved():
            """It points beside the centre, and the square goes there."""
            (picture,) = self.received(f"127.0.0.1:{port}/square", 1)
            return picture.pixels[120 * 320 + 160] == 64 and picture.pixels.count(255) >= 39 * 39
        harness.wait_until(has_moved, "the square to be where the receiver points", poll_interval_s=0.5)
        self.assertNotIn("no input", output.read_text())
        program.interrupt()
        self.ends(program)
        self.assertEqual(program.text, "")


class Examples(BuiltExamples):
    @classmethod
    def setUpClass(cls):
        cls.build_all(install_to_prefix, lambda prefix: EXAMPLES)

    def test_an_animated_picture_becomes_files(self):
        sender, address = self.serve("animated_picture")
        received = self.received(f"{address}/rings")
        for picture in received:
            self.check_rings(picture)
        self.assertEqual(len({picture.pixels for picture in received}), len(received))
        self.stop(sender)

    def test_the_viewer_shows_an_animated_picture(self):
        sender, address = self.serve("animated_picture")
        viewer = self.view(address, "--frames", "20", "--screenshot", "shown.png", "--size", "640x360")
        self.ends(viewer)
        self.assertGreaterEqual(self.stats(viewer)["frames_received"], 20)
        self.check_rings(pictures.read_png(self.file("shown.png")))
        self.stop(sender)

    def test_what_opengl_renders_becomes_files(self):
        sender, address = self.serve("opengl_render")
        first, second, _ = self.received(f"{address}/triangle")
        self.assertEqual((first.width, first.height), (1280, 720))
        for corner in ((0, 0), (0.99, 0), (0, 0.99), (0.99, 0.99)):
            for value, expected in zip(first.at(*corner), (0.1 * 255, 0.1 * 255, 0.12 * 255)):
                self.assertAlmostEqual(value, expected, delta=1)
        # In the middle the colours of the three corners meet; each of them is somewhere the strongest one.
        for value in first.at(0.5, 0.5):
            self.assertAlmostEqual(value, 255 / 3, delta=3)
        places = [first.at(x / 50, y / 50) for x in range(50) for y in range(50)]
        for channel in range(3):
            self.assertTrue(any(max(place) > 150 and place[channel] == max(place) for place in places), channel)
        self.assertNotEqual(first.pixels, second.pixels)
        self.stop(sender)

    def test_the_first_row_is_the_top_one(self):
        """The red corner of the triangle is at the top when the stream begins, and turns by 1/60 radian a frame."""
        _, address = self.serve("opengl_render")
        (first,) = self.received(f"{address}/triangle", 1)
        reddest = max(((first.at(x / 64, y / 36)[0], y / 36) for x in range(64) for y in range(36)))
        self.assertLess(reddest[1], 0.25)

    def test_frames_of_the_sender_become_files(self):
        sender = self.send_on("pattern", "--size", "320x180")
        for picture in self.received(f"{sender.address}/pattern", 2):
            self.assertEqual((picture.width, picture.height), (320, 180))
            self.assertGreaterEqual(picture.colours(), 7)

    def test_who_waits_for_a_sender_says_so(self):
        receiver = self.example("receive_png", f"127.0.0.1:{harness.free_port()}", 1, "none")
        harness.wait_until(lambda: "no frame yet: " in receiver.text, "the state")
        self.assertIn("127.0.0.1", receiver.text)

    def test_pixels_that_no_png_has_are_refused(self):
        sender = self.send_on("pattern", "--size", "320x180", "--pix-fmt", "yuv420p")
        receiver = self.example("receive_png", sender.address, 1, "none")
        self.ends(receiver, 1)
        self.assertEqual(receiver.text, "receive_png: no PNG has pixels as yuv420p")

    def test_one_loop_sends_and_receives(self):
        self.check_that_one_loop_sends_and_receives()

    def test_a_loop_that_has_nothing_to_do_sleeps(self):
        """Without a viewer no descriptor stays readable: in its first seconds it uses little processor time."""
        program = self.example("event_loop", f"127.0.0.1:{harness.free_port()}", f"127.0.0.1:{self.refusing_port()}")

        def time_s() -> float:
            fields = pathlib.Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        harness.wait_until(lambda: program.state() == "S", "it to sleep")
        before = time_s()
        time.sleep(2)
        self.assertLess(time_s() - before, 1)
        self.stop(program)


    def test_the_programs_of_the_document_exchange_frames(self):
        """docs/library.md begins with two; the first listens on the default port."""
        blocks = re.findall(r"(?:^(?:    .*)?\n)+", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
        sources = [textwrap.dedent(block) for block in blocks if "int main(void)" in block]
        self.assertEqual(len(sources), 2)
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next(self.prefix.rglob("framewire.pc")).parent)}
        library = next(self.prefix.rglob("libframewire.so")).parent
        address = f"127.0.0.1:{harness.free_port()}"
        for name, source in zip(("send", "receive"), sources):
            source = source.replace("localhost/", f"{address}/").replace("fw_sender_create(NULL", "create_here(NULL")
            here = (f'#define create_here(none, sender) fw_sender_create(&(fw_settings){{sizeof(fw_settings), '
                    f'&(fw_option){{"listen", "{address}"}}, 1, NULL, NULL}}, sender)\n')
            self.file(f"{name}.c").write_text(here + source)
            run("sh", "-c", f"cc -Wall -Wextra -Werror {name}.c -o {name} $(pkg-config --cflags --libs framewire)",
                cwd=self.folder, env=environment)
        with_library = self.environment(LD_LIBRARY_PATH=str(library))
        self.start(self.file("send"), environment=with_library)
        with self.file("output").open("w") as output:
            self.ends(self.start(self.file("receive"), environment=with_library, stdout=output))
        lines = self.file("output").read_text().splitlines()
        self.assertEqual(len(lines), 10)
        self.assertEqual({line.split(",")[0] for line in lines}, {"640 x 360"})


@unittest.skipIf(shutil.which("dpkg-deb") is None or shutil.which("dpkg-shlibdeps") is None,
                 "packages need dpkg-deb and dpkg-shlibdeps, of dpkg-dev")
class PackagedExamples(BuiltExamples):
    """The same of the Debian packages: their copy of the examples, built with their header, their files for CMake and
    pkg-config, and their library."""

    @classmethod
    def setUpClass(cls):
        cls.build_all(unpack_packages, lambda prefix: prefix / "share/doc/libframewire-dev/examples/c")

    def test_all_are_there(self):
        self.assertEqual({path.stem for path in self.sources.iterdir() if path.suffix in {".c", ".cpp"}}, PROGRAMS)
        for name in PROGRAMS:
            libraries = run("ldd", self.built / name)
            self.assertIn(f"libframewire.so.0 => {self.prefix}/lib/", libraries)

    def test_they_exchange_frames(self):
        sender, address = self.serve("animated_picture")
        for picture in self.received(f"{address}/rings"):
            self.check_rings(picture)
        self.stop(sender)
        sender, address = self.serve("opengl_render")
        (picture,) = self.received(f"{address}/triangle", 1)
        self.assertEqual((picture.width, picture.height), (1280, 720))
        self.stop(sender)

    def test_one_loop_sends_and_receives(self):
        self.check_that_one_loop_sends_and_receives()

    def test_the_line_in_each_example_builds_it(self):
        check_compilation_lines(self, self.prefix, self.sources, self.folder)


def check_compilation_lines(test: unittest.TestCase, prefix: pathlib.Path, sources: pathlib.Path, folder: pathlib.Path):
    """Builds each example by pkg-config, in this folder, and runs one."""
    (pkg_config,) = (prefix / "lib").rglob("framewire.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pkg_config.parent)}
    files = [path for path in sources.iterdir() if path.suffix in {".c", ".cpp"}]
    test.assertEqual({path.stem for path in files}, PROGRAMS)
    for source in files:
        shutil.copy(source, folder)
        (line,) = COMPILATION.findall(source.read_text(encoding="utf-8"))
        run("sh", "-c", line, cwd=folder, env=environment)
        test.assertIn("[libframewire.so.0]", run("readelf", "-d", folder / source.stem))
    bare = subprocess.run([folder / "receive_png"], capture_output=True, text=True, check=False,
                          env={"LD_LIBRARY_PATH": str(pkg_config.parents[1])})
    test.assertEqual(bare.returncode, 2, bare.stderr)
    test.assertIn("Usage: receive_png HOST", bare.stderr)


class Compilation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.prefix = install_to_prefix(cls.folder)

    def test_the_line_in_each_example_builds_it(self):
        check_compilation_lines(self, self.prefix, EXAMPLES, self.folder)

    def test_a_later_version_is_refused(self):
        project = self.folder / "project"
        project.mkdir()
        for version, good in (("0.1", True), ("1.0", False)):
            (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.18)\nproject(test LANGUAGES C)\n"
                                                    f"find_package(framewire {version} REQUIRED)\n")
            done = subprocess.run(["cmake", "-S", project, "-B", project / version,
                                   f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode == 0, good, done.stderr)


if __name__ == "__main__":
    harness.main()
