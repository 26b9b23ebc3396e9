"""A private sshd on loopback. Its keys, port, configuration and known hosts are in the test's folder."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

import harness

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
IS_INSTALLED = SSHD and shutil.which("ssh")
MISSING = "" if IS_INSTALLED else "sshd and ssh are not installed (Debian: openssh-server, openssh-client)"


class PrivateSshd:
    """Accepts the user who runs the test, by its own key.

    `client_config` is for ssh -F; every name in `hosts` is this sshd.
    """

    def __init__(self, folder: pathlib.Path, hosts: tuple[str, ...] = ("host1", "host2", "host3"),
                 address: str = "127.0.0.1", path: str | None = None, prefix: tuple[str, ...] = (),
                 mark: str = "FRAMEWIRE_TEST_MARK="):
        self.folder = folder / f"sshd-{address.replace(':', '-')}"
        self.folder.mkdir()
        self.address = address
        self.prefix = prefix
        self.home = self.folder / "home"  # keeps the user's own startup files out of the tests
        self.home.mkdir()
        self.mark = mark
        self.hosts = hosts
        self.user = pwd.getpwuid(os.getuid()).pw_name
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name], check=True)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        self.port = harness.free_port(address) if not prefix else 2222
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # sshd's chroot folder: it refuses to start without it
        usual = f"{harness.BIN.resolve()}:/usr/local/bin:/usr/bin:/bin:/usr/sbin"
        self._write_configurations(path if path is not None else usual)
        self.start()

    def _write_configurations(self, path: str):
        (self.folder / "sshd_config").write_text(f"""
Port {self.port}
ListenAddress {self.address}
HostKey {self.folder}/host_key
AuthorizedKeysFile {self.folder}/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
LogLevel ERROR
SetEnv PATH={path} HOME={self.home} {self.mark}
""")
        self.client_config = self.folder / "ssh_config"
        self.client_config.write_text(f"""
Host {" ".join(self.hosts)}
  HostName {self.address}
  Port {self.port}
  User {self.user}
  IdentityFile {self.folder}/user_key
  IdentitiesOnly yes
  BatchMode yes
  UserKnownHostsFile {self.folder}/known_hosts
  StrictHostKeyChecking accept-new
  LogLevel ERROR
""")

    def start(self):
        self.log = (self.folder / "sshd.log").open("ab")
        self.process = subprocess.Popen([*self.prefix, SSHD, "-D", "-e", "-f", self.folder / "sshd_config"],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            answer = subprocess.run([*self.prefix, "ssh", "-F", self.client_config, self.hosts[0], "true"],
                                    capture_output=True, text=True)
            if answer.returncode == 0:
                return
            time.sleep(0.05)
        self.stop()
        log = (self.folder / "sshd.log").read_text()
        raise AssertionError(f"the test's sshd does not answer: {answer.stderr}{log}")

    def stop(self):
        """Kills sshd and its descendants. They have own process sessions, so one killpg() would miss them."""
        parents = {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                parents[int(entry)] = int(pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # the process has ended
        family = [self.process.pid]
        for pid in family:  # the loop appends to it
            family += [child for child, parent in parents.items() if parent == pid]
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.log.close()
