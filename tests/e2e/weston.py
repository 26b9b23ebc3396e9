"""weston, a Wayland compositor, as a test starts it. It starts Xwayland when the first program of X connects."""
import pathlib
import subprocess

import harness
from windows import SCREEN

LISTENS = "xserver listening on display "


def start(test: harness.EndToEnd, *options: str, **environment: str) -> tuple[subprocess.Popen, str]:
    """Returns its process, which ends with the test, and the name of its X display."""
    for tool in ("weston", "Xwayland"):
        harness.require_tool(tool)
    # Where servers of X have their sockets. A system that has just started may have none, and weston crashes then.
    sockets = pathlib.Path("/tmp/.X11-unix")
    if not sockets.exists():
        sockets.mkdir(exist_ok=True)
        sockets.chmod(0o1777)
    folder = test.file("run")  # only its owner may read it, or weston refuses it
    folder.mkdir(mode=0o700)
    log = test.file("weston.log")
    kept = {name: value for name, value in test.environment().items() if name != "LD_LIBRARY_PATH"}
    with log.open("wb") as output:
        server = subprocess.Popen(
            ["weston", *options, "--xwayland", "--no-config", "--idle-time=0", f"--width={SCREEN[0]}",
             f"--height={SCREEN[1]}", "--socket=framewire"],
            env=kept | environment | {"XDG_RUNTIME_DIR": str(folder)}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output)
    test.addCleanup(server.wait)
    test.addCleanup(server.terminate)

    def display() -> str:
        said = log.read_text(errors="replace")
        test.assertIsNone(server.poll(), said)
        return next((line.rpartition(LISTENS)[2] for line in said.splitlines() if LISTENS in line), "")

    return server, harness.wait_until(display, "weston's X display")
