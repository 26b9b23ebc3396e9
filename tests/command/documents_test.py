"""Every link in the installed documents works. Needs a configured build folder, but nothing compiled."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import documents
import manuals


class Documents(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="framewire-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_no_link_leads_out_of_what_is_installed(self):
        subprocess.run(["cmake", "--install", manuals.BUILD, "--component", "documents", "--prefix", self.folder],
                       check=True, stdout=subprocess.DEVNULL)
        installed = self.folder / "share/doc/framewire"
        found = [link for document in installed.rglob("*.md")
                 for link in documents.links_in(document.read_text(encoding="utf-8"))]
        self.assertGreater(len(found), 10)
        self.assertEqual(documents.broken_links(installed), [])

    def test_the_service_and_the_readme_mean_the_same_machines(self):
        """big sends, box views."""
        root = pathlib.Path(__file__).resolve().parents[2]
        (sender,) = set(re.findall(r"^ +box\$ framewire view (\w+) --fullscreen(?: +#.*)?$",
                                   (root / "README.md").read_text(), re.M))
        service = (root / "docs/systemd/framewire-view.service").read_text()
        self.assertEqual(set(re.findall(r"FRAMEWIRE_VIEW_ARGS=(\w+):", service)), {sender})

    def started_by_the_service(self, *arguments: str, **settings) -> list[str]:
        """The arguments of the viewer that the service starts; `arguments`: FRAMEWIRE_VIEW_ARGS, split."""
        root = pathlib.Path(__file__).resolve().parents[2]
        service = (root / "docs/systemd/framewire-view.service").read_text()
        command = re.search(r"^ExecStart=/bin/sh -c '(.*?)' sh \$FRAMEWIRE_VIEW_ARGS$", service, re.M | re.S).group(1)
        for given, read in (("\\\n", " "), ("$$", "$"), ("%%", "%")):  # as systemd reads it
            command = command.replace(given, read)
        viewer = self.folder / "framewire-view"
        viewer.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        viewer.chmod(0o700)
        ran = subprocess.run(["/bin/sh", "-c", command, "sh", *arguments], cwd=self.folder, check=True, text=True,
                             env={"PATH": f"{self.folder}:/usr/bin:/bin", **settings}, stdout=subprocess.PIPE)
        return ran.stdout.splitlines()

    def test_the_service_records_into_new_files(self):
        (self.folder / "x:5290").touch()
        shown = self.started_by_the_service("--listen", "*:5290", "--scene", "my scene.toml")
        self.assertEqual(shown, ["--listen", "*:5290", "--scene", "my scene.toml"])
        *shown, file = self.started_by_the_service("big", "--headless", FRAMEWIRE_VIEW_RECORDING="/srv/my film")
        self.assertEqual(shown, ["big", "--headless", "--output"])
        self.assertRegex(file, r"^/srv/my film-\d{8}-\d{6}\.y4m$")

    def test_what_is_no_good_link_is_found(self):
        (self.folder / "docs").mkdir()
        (self.folder / "there.md").write_text("[a](docs) [b](docs/text.md#place) ![c](docs/none.png) "
                                              "[d](https://example.org/none) [e](#place)\n")
        (self.folder / "docs/text.md").write_text("[a](../there.md) [b](../../there.md) [c](/etc/passwd)\n")
        self.assertEqual(documents.broken_links(self.folder),
                         ["docs/text.md: ../../there.md", "docs/text.md: /etc/passwd", "there.md: docs/none.png"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
