"""An OpenSSH server of the tests' own on loopback: its keys, its config and its port, nothing of the machine's."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PATIENCE = 20.0
HOST = "box"
"""The name under which `Sshd.config` knows the server."""


@dataclass(frozen=True)
class Sshd:
    """A server that runs, and what its clients need. `ssh` is a value for PGS_TUI_SSH."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def config(self) -> Path:
        return self.folder / "client"

    @property
    def ssh(self) -> str:
        return f"ssh -F {self.config}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def through(self, port: int, *more: str) -> str:
        """Another value for PGS_TUI_SSH: the same server through a proxy's port, with further lines of config."""
        config = self.folder / f"client-{port}"
        _write_client_config(config, self.folder, port, *more)
        return f"ssh -F {config}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


@contextlib.contextmanager
def serving(folder: Path, *settings: str) -> Iterator[Sshd]:
    """A server with the default settings and these lines before them; skips, or with CI=true fails, without one."""
    program = sshd_program()
    if program is None:
        _without("there is no sshd: install openssh-server")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name in ("host", "user"):
        if not (folder / name).exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    server = _started(str(program), folder, settings)
    try:
        yield server
    finally:
        server.stop()


def sshd_program() -> str | None:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
    return shutil.which("sshd", path=path)


def _without(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _started(program: str, folder: Path, settings: tuple[str, ...]) -> Sshd:
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)  # sshd's empty room, else made by the system
    for _ in range(5):  # another program may take the port first
        port = _free_port()
        _write_server_config(folder, port, settings)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [program, "-D", "-e", "-f", folder / "server"], stdin=subprocess.DEVNULL, stderr=log
            )
        if _listens(process, port):
            _write_client_config(folder / "client", folder, port)
            return Sshd(folder, port, process)
    pytest.fail(f"sshd does not start: {(folder / 'log').read_text(errors='replace')}", pytrace=False)


def _write_server_config(folder: Path, port: int, settings: tuple[str, ...]) -> None:
    lines = (
        f"ListenAddress 127.0.0.1:{port}",
        f"HostKey {folder}/host",
        f"AuthorizedKeysFile {folder}/user.pub",
        *settings,
        "PidFile none",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin prohibit-password",
        "PrintMotd no",
        "MaxStartups 100",
    )
    (folder / "server").write_text("\n".join(lines) + "\n")


def _write_client_config(config: Path, folder: Path, port: int, *more: str) -> None:
    kind, key, *_ = (folder / "host.pub").read_text().split()
    (folder / "known").write_text(f"{HOST} {kind} {key}\n")
    lines = (
        f"Host {HOST}",
        *more,
        "HostName 127.0.0.1",
        f"Port {port}",
        f"User {pwd.getpwuid(os.getuid()).pw_name}",
        f"HostKeyAlias {HOST}",
        f"IdentityFile {folder}/user",
        "IdentitiesOnly yes",
        "IdentityAgent none",
        f"UserKnownHostsFile {folder}/known",
        "GlobalKnownHostsFile /dev/null",
        "StrictHostKeyChecking yes",
    )
    config.write_text("\n".join(lines) + "\n")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        time.sleep(0.01)
    return False
