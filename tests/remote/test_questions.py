"""What ssh asks is asked once, before the screen, and never on it."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from tests.remote.proxy import Proxy
from tests.remote.sshd import HOST, Sshd
from tests.terminal.terminal import Terminal, environment, fake_run, program

PASSPHRASE = "open sesame"
DEAF = """#!/bin/sh
case $* in *'-O check'*) exit 1 ;; esac
trap '' INT TERM
stty -echo
echo asks >&2
exec sleep 60
"""
MOUSE_MOVED = b"\x1b[<35;10;10M"


def test_a_new_host_and_a_locked_key_are_asked_for_once_before_the_screen_and_never_on_it(
    sshd: Sshd, proxy: Proxy, tmp_path: Path
) -> None:
    config = _config_that_asks(sshd, sshd.through(proxy.port), tmp_path)
    variables = environment(tmp_path, PGS_TUI_SSH=f"ssh -F {config}", XDG_CACHE_HOME=f"{tmp_path}/cache")
    run = tmp_path / "runs" / "a run"
    with fake_run(run, tmp_path, FAKE_STEPS="2000", FAKE_DT="0.1"):
        terminal = Terminal(program("attach", f"{HOST}:{run}"), variables)
        try:
            terminal.type(MOUSE_MOVED)  # a mode that a dropped session left on
            terminal.wait_for("authenticity of host", "continue connecting")
            terminal.type(b"yes\r")
            terminal.wait_for("Enter passphrase")
            terminal.type(PASSPHRASE.encode() + b"\r")
            terminal.wait_for("● training")
            proxy.cut()
            terminal.wait_for("? refused", "Permission denied", "if it has something to ask, leave and attach again")
            terminal.type(b"q")
            assert terminal.wait_for_end() == 0
            assert terminal.output.count(b"Enter passphrase") == 1 and terminal.output.count(b"authenticity") == 1
            assert terminal.attributes_now() == terminal.attributes
        finally:
            terminal.close()


def _config_that_asks(sshd: Sshd, through: str, folder: Path) -> Path:
    """A client that has never seen the host, and whose key has a passphrase."""
    key = folder / "locked"
    key.write_bytes((sshd.folder / "user").read_bytes())
    key.chmod(0o600)
    lock = ("ssh-keygen", "-q", "-p", "-P", "", "-N", PASSPHRASE, "-f", key)
    subprocess.run(lock, check=True, stdout=subprocess.DEVNULL)
    text = Path(shlex.split(through)[-1]).read_text().replace("StrictHostKeyChecking yes", "StrictHostKeyChecking ask")
    text = text.replace(str(sshd.folder / "user"), str(key)).replace(str(sshd.folder / "known"), f"{folder}/known")
    config = folder / "config"
    config.write_text(text)
    return config


def test_ctrl_c_at_the_question_leaves_and_the_terminal_echoes_again(sshd: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(sshd.config.read_text().replace("Checking yes", "Checking ask").replace("/known", "/unknown"))
    _leave_at(tmp_path, f"ssh -F {config}", "continue connecting")


def test_ctrl_c_leaves_an_ssh_that_hears_nothing(tmp_path: Path) -> None:
    deaf = tmp_path / "deaf"
    deaf.write_text(
        "#!/bin/sh\ncase $* in *'-O check'*) exit 1 ;; esac\ntrap '' INT TERM\nstty -echo\necho asks >&2\nsleep 60\n"
    )
    deaf.chmod(0o755)
    _leave_at(tmp_path, str(deaf), "asks")


def _leave_at(folder: Path, ssh: str, question: str) -> None:
    terminal = Terminal(program("attach", f"{HOST}:run"), environment(folder, PGS_TUI_SSH=ssh))
    try:
        terminal.wait_for(question)
        terminal.type(b"\x03")
        assert terminal.wait_for_end() == 130
        assert terminal.attributes_now() == terminal.attributes
    finally:
        terminal.close()


def test_in_the_background_there_is_no_terminal_to_prepare(sshd: Sshd, tmp_path: Path) -> None:
    variables = environment(tmp_path, PGS_TUI_SSH=sshd.ssh, XDG_CACHE_HOME=f"{tmp_path}/cache", PS1="ready> ")
    shell = Terminal(("bash", "--norc", "-i"), variables)
    try:
        shell.wait_for("ready>")
        shell.type(f"{' '.join(program('--once', f'{HOST}:/no-such-run'))} & wait\n".encode())
        shell.wait_for("is no run")
    finally:
        shell.close()
