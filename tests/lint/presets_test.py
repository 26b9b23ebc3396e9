#!/usr/bin/env python3
"""Warnings are errors for developers of framewire, but not for those who only build it, because other compilers warn
differently. Only configures."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRESETS = ROOT / "CMakePresets.json"


class Presets(unittest.TestCase):
    def compile_commands(self, *options: str) -> list[str]:
        """The compile commands of our sources; third-party sources have other settings."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DFRAMEWIRE_TESTS=OFF",
                                   "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options],
                                  cwd=ROOT, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            commands = json.loads(pathlib.Path(folder, "compile_commands.json").read_text())
        ours = [command["command"]
                for command in commands if command["file"].startswith(f"{ROOT}/") and command["file"].endswith(".cpp")]
        self.assertGreater(len(ours), 100)
        return ours

    def test_a_plain_cmake_takes_no_warning_for_an_error(self):
        for command in self.compile_commands("-G", "Ninja"):
            self.assertNotIn("-Werror", command)
            self.assertIn(" -Wall ", command)

    def test_every_preset_does(self):
        for command in self.compile_commands("--preset", "release"):
            self.assertIn(" -Werror ", command)
        presets = {preset["name"]: preset for preset in json.loads(PRESETS.read_text())["configurePresets"]}
        self.assertEqual(presets["base"]["cacheVariables"]["FRAMEWIRE_WERROR"], "ON")
        for name in ("release", "dev", "asan", "tsan"):
            self.assertEqual(presets[name]["inherits"], "base")

    def test_their_lines_fit(self):
        self.assertEqual([line for line in PRESETS.read_text().splitlines() if len(line) > 120], [])


if __name__ == "__main__":
    unittest.main()
