"""Tests what `cmake --install` and CPack install: nothing is missing, each file is in one package, and framewire-bytes
needs no OpenGL."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import documents
import manuals

PACKAGES = {"framewire-bytes": "net", "framewire": "net", "libframewire0": "libs", "libframewire-dev": "libdevel",
            "python3-framewire": "python"}
OF_FRAMES = {"framewire-send", "framewire-view", "framewire-doctor-gl"}
GRAPHICS = re.compile(r"(lib(e?gl|opengl|glx|gles|glfw|x11|xcb|wayland|drm|gbm|av|sw|mesa)|mesa|ffmpeg)", re.IGNORECASE)


def run(*command, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Installed(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def check(self, prefix: pathlib.Path):
        """Installed programs run without the build environment, and their files are there."""
        bare = {"PATH": str(prefix / "bin"), "HOME": str(self.folder)}
        for program in manuals.PROGRAMS:
            self.assertIn("Usage: ", run(prefix / "bin" / program, "--help", env=bare))
            with_man = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
            page = run(manuals.tool("man"), "-M", prefix / "share" / "man", program, env=with_man)
            self.assertIn("SYNOPSIS", page.replace("\b", ""))
            self.assertTrue((prefix / "share/bash-completion/completions" / program).is_file())
            self.assertTrue((prefix / "share/zsh/site-functions" / f"_{program}").is_file())
        self.assertTrue((prefix / "include/framewire/framewire.h").is_file())
        self.assertEqual(len(list((prefix / "lib").rglob("libframewire.so"))), 1)
        self.assertIn("sends frames", run(prefix / "bin" / "framewire", "--help", env=bare))
        self.assertIn("SOURCE", run(prefix / "bin" / "framewire", "send", "--help", env=bare))
        for document in ("LICENSE", "README.md", "CHANGELOG.md", "docs/doctor.md"):
            self.assertTrue((prefix / "share/doc/framewire" / document).is_file(), document)
        self.assertEqual(documents.broken_links(prefix / "share/doc/framewire"), [])

    def test_to_a_prefix(self):
        run("cmake", "--install", manuals.BUILD, "--prefix", self.folder / "prefix")
        self.check(self.folder / "prefix")

    def test_to_another_root(self):
        run("cmake", "--install", manuals.BUILD, "--prefix", "/opt/framewire",
            env={**os.environ, "DESTDIR": str(self.folder / "root")})
        self.check(self.folder / "root/opt/framewire")
        self.assertEqual(os.listdir(self.folder / "root"), ["opt"])


@unittest.skipIf(shutil.which("dpkg-deb") is None or shutil.which("dpkg-shlibdeps") is None,
                 "packages need dpkg-deb and dpkg-shlibdeps, of dpkg-dev")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        run("cpack", "--config", manuals.BUILD / "CPackConfig.cmake", "-B", cls.folder)
        cls.packages = {run("dpkg-deb", "-f", path, "Package").strip(): path for path in cls.folder.glob("*.deb")}

    def field(self, package: str, name: str) -> str:
        return run("dpkg-deb", "-f", self.packages[package], name).strip()

    def files(self, package: str) -> set[str]:
        lines = run("dpkg-deb", "-c", self.packages[package]).splitlines()
        return {line.split(None, 5)[5] for line in lines if not line.startswith("d")}

    def test_all_are_there(self):
        self.assertEqual(set(self.packages), set(PACKAGES))
        for package in self.packages:
            self.assertEqual(self.field(package, "Section"), PACKAGES[package])
            self.assertRegex(self.field(package, "Maintainer"), r"^.+ <.+@.+>$")
            self.assertRegex(self.field(package, "Description"), r"^[a-z].{20,78}\n [A-Za-z]")

    def test_each_file_is_in_one(self):
        bytes_files, frames_files = self.files("framewire-bytes"), self.files("framewire")
        counts = collections.Counter(name for package in self.packages for name in self.files(package))
        self.assertEqual([name for name, count in counts.items() if count > 1], [])
        self.assertTrue(any(re.fullmatch(r"./usr/lib/([^/]+/)?framewire/libframewire-core\.so\.[\d.]+", name)
                            for name in bytes_files))
        programs = {pathlib.PurePath(name).name for name in frames_files if name.startswith("./usr/bin/")}
        self.assertEqual(programs, OF_FRAMES)
        programs = {pathlib.PurePath(name).name for name in bytes_files if name.startswith("./usr/bin/")}
        self.assertEqual(programs, set(manuals.PROGRAMS) - OF_FRAMES)
        for program in manuals.PROGRAMS:
            of = frames_files if program in OF_FRAMES else bytes_files
            for name in (f"man/man1/{program}.1.gz", f"bash-completion/completions/{program}",
                         f"zsh/vendor-completions/_{program}"):
                self.assertIn(f"./usr/share/{name}", of)
        for package in self.packages:
            self.assertIn(f"./usr/share/doc/{package}/copyright", self.files(package))
            self.assertIn(f"./usr/share/doc/{package}/changelog.gz", self.files(package))

    def test_the_library_has_a_package_and_another_for_those_who_build_with_it(self):
        of_library, of_development = self.files("libframewire0"), self.files("libframewire-dev")
        (folder,) = {name.rpartition("/")[0] for name in of_library if "/libframewire.so.0" in name}
        self.assertRegex(folder, r"^\./usr/lib(/[\w-]+-linux-gnu)?$")
        for name in ("./usr/include/framewire/framewire.h", f"{folder}/pkgconfig/framewire.pc",
                     f"{folder}/cmake/framewire/framewireConfig.cmake",
                     "./usr/share/doc/libframewire-dev/examples/c/animated_picture.c"):
            self.assertIn(name, of_development)
        self.assertTrue(any(name.startswith(f"{folder}/libframewire.so ->") for name in of_development))
        self.assertEqual(self.field("libframewire-dev", "Depends"),
                         f"libframewire0 (= {self.field('libframewire0', 'Version')})")
        depends = self.field("libframewire0", "Depends")
        self.assertEqual(set(re.findall(r"(?:^|, )([\w+-]+)", depends)),
                         {"libc6", "libgcc-s1", "libssl3", "libstdc++6"})
        control = self.folder / "control"
        run("dpkg-deb", "-e", self.packages["libframewire0"], control)
        self.assertRegex((control / "shlibs").read_text(), r"^libframewire 0 libframewire0 \(>= [\d.]+\)$")
        self.assertIn(" fw_version@FRAMEWIRE_0 ", (control / "symbols").read_text())
        self.assertEqual((control / "triggers").read_text(), "activate-noawait ldconfig\n")

    def test_the_python_package_works_with_the_library_of_its_own(self):
        depends = self.field("python3-framewire", "Depends")
        self.assertIn(f"libframewire0 (= {self.field('libframewire0', 'Version')})", depends)
        self.assertIn("python3:any", depends)
        unpacked = self.folder / "python"
        for package in ("python3-framewire", "libframewire0"):
            run("dpkg-deb", "-x", self.packages[package], unpacked)
        (library,) = unpacked.rglob("libframewire.so.0")
        said = run("/usr/bin/python3", "-c", "import framewire; print(framewire.__file__, framewire.__version__)",
                   env={"PYTHONPATH": str(unpacked / "usr/lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE": "1",
                        "LD_LIBRARY_PATH": str(library.parent)})
        file, version = said.split()
        self.assertTrue(pathlib.Path(file).is_relative_to(unpacked), file)
        self.assertEqual(version, self.field("python3-framewire", "Version"))

    def test_bytes_need_no_graphics(self):
        for field in ("Depends", "Recommends", "Suggests"):
            self.assertNotRegex(self.field("framewire-bytes", field), GRAPHICS)
        # CPack found the dependencies.
        self.assertRegex(self.field("framewire-bytes", "Depends"), r"libc6 .*libibverbs1")
        unpacked = self.folder / "bytes"
        run("dpkg-deb", "-x", self.packages["framewire-bytes"], unpacked)
        for program in (unpacked / "usr/bin").iterdir():
            libraries = re.findall(r"NEEDED +(\S+)", run(manuals.tool("objdump"), "-p", program))
            self.assertIn("libc.so.6", libraries)
            self.assertEqual([name for name in libraries if GRAPHICS.match(name)], [], program.name)

    def test_no_link_of_a_document_leads_nowhere(self):
        unpacked = self.folder / "documents"
        run("dpkg-deb", "-x", self.packages["framewire-bytes"], unpacked)
        self.assertTrue((unpacked / "usr/share/doc/framewire-bytes/README.md").is_file())
        self.assertEqual(documents.broken_links(unpacked / "usr/share/doc/framewire-bytes"), [])

    def test_frames_need_bytes_of_the_same_version(self):
        depends = self.field("framewire", "Depends")
        self.assertIn(f"framewire-bytes (= {self.field('framewire-bytes', 'Version')})", depends)
        for library in ("libegl1", "libglfw3", "libplacebo", "libavformat"):
            self.assertIn(library, depends)

    def test_lintian_finds_nothing(self):
        self.assertIsNotNone(shutil.which("lintian"), "lintian is not installed; run scripts/setup --tests")
        for package in self.packages.values():
            found = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", package],
                                   capture_output=True, text=True)
            self.assertIn(found.returncode, (0, 2), found.stderr)  # 2: it has found something
            # These findings concern this machine, which makes no releases.
            said = [line for line in found.stdout.splitlines() if "Maintainer" not in line and "mail-host" not in line]
            self.assertEqual(said, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
