"""The one connection to a machine: shared, cut, silent, come back; and told in words when it does not work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.rundir import process_start
from pgs_tui.remote import ssh
from pgs_tui.remote.lost import LinkLostError, LinkRefusedError, LinkSilentError
from pgs_tui.remote.programs import CHECK, FOLLOW
from pgs_tui.remote.ssh import Connection, control_folder, ssh_command
from tests.remote.proxy import Proxy
from tests.remote.sshd import HOST, PATIENCE, Sshd, serving
from tests.remote.watching import FarRun, Watched, steps
from tests.terminal.terminal import environment


def test_a_second_dashboard_shares_the_connection_and_keeps_it_when_the_first_leaves(
    box: Connection, sshd: Sshd
) -> None:
    logins = sshd.log.count("Accepted publickey")
    second = Connection(HOST)
    second.open()
    assert sshd.log.count("Accepted publickey") == logins
    first_shell, second_shell = box.shell(), second.shell()
    first_shell.ask(CHECK, ".", 0)
    first_shell.close()
    assert second_shell.ask(CHECK, ".", 0).text("host")
    second_shell.close()


def test_a_cut_line_is_told_and_comes_back_without_a_question(
    sshd: Sshd, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGS_TUI_SSH", sshd.through(proxy.port))
    (tmp_path / "events.jsonl").write_bytes(b"one\n")
    connection = Connection(HOST)
    connection.open()
    news = iter(connection.shell().stream(FOLLOW, str(tmp_path), "events.jsonl", 0))
    assert next(news) == b"one\n"
    proxy.cut(refuse=True)
    with pytest.raises(LinkLostError, match="box"):
        next(news)
    with pytest.raises(LinkLostError) as refused:
        connection.reopen()
    assert not isinstance(refused.value, LinkRefusedError)
    with pytest.raises(LinkLostError):  # nor does a channel log in by itself
        connection.shell().ask(CHECK, ".", 0)
    proxy.mend()
    connection.reopen()
    assert connection.shell().ask(CHECK, ".", 0).status == 0
    connection.drop()


def test_silence_on_the_line_is_told_after_the_patience_of_who_asks(
    sshd: Sshd, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGS_TUI_SSH", sshd.through(proxy.port))
    connection = Connection(HOST)
    connection.open()
    shell = connection.shell()
    shell.ask(CHECK, ".", 0)
    proxy.silence()
    with pytest.raises(LinkSilentError, match="has not answered for 0 s"):
        shell.ask(CHECK, ".", 0, patience=0.1)
    connection.drop()
    proxy.mend()
    connection.reopen()
    connection.drop()


def test_nothing_is_left_running_over_there_when_the_line_is_cut(
    sshd: Sshd, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGS_TUI_SSH", sshd.through(proxy.port))
    log = tmp_path / "events.jsonl"
    log.write_bytes(b"one\n")
    connection = Connection(HOST)
    connection.open()
    news = iter(connection.shell().stream(FOLLOW, str(tmp_path), "events.jsonl", 0))
    next(news)
    (follower,) = _processes_with(str(log))
    proxy.cut()
    with pytest.raises(LinkLostError):
        next(news)
    _wait_for_end(follower)


def test_a_server_that_allows_few_channels_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / "sshd", "MaxSessions 1") as server:
        monkeypatch.setenv("PGS_TUI_SSH", server.ssh)
        connection = Connection(HOST)
        connection.open()
        only = connection.shell()
        only.ask(CHECK, ".", 0)
        with pytest.raises(LinkLostError, match="MaxSessions"):
            connection.shell().ask(CHECK, ".", 0)
        assert only.ask(CHECK, ".", 0).status == 0
        connection.drop()


def test_a_socket_that_a_crash_left_behind_is_no_hindrance(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGS_TUI_SSH", sshd.ssh)
    connection = Connection(HOST)
    connection.open()
    (master,) = _processes_with(str(connection.socket))
    os.kill(master, 9)
    _wait_for_end(master)
    assert connection.socket.exists() and not connection.stands()
    connection.reopen()
    assert connection.shell().ask(CHECK, ".", 0).status == 0
    connection.drop()


def test_every_three_dashboards_share_a_connection(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGS_TUI_SSH", sshd.ssh)
    several = [Connection(HOST) for _ in range(7)]
    assert len({connection.socket for connection in several}) == 3
    shared = several[1].socket
    several[1].leave()
    again = Connection(HOST)
    assert again.socket == shared
    for connection in (*several, again):
        connection.leave()


def test_seven_dashboards_of_a_run_have_all_its_events(tmp_path: Path, watch: Callable[[Path], Watched]) -> None:
    far = FarRun(tmp_path / "run", steps(1, 5))
    all_seen = [watch(far.run.path) for _ in range(7)]
    for seen in all_seen:
        seen.until(lambda seen=seen: seen.steps == [1, 2, 3, 4, 5])  # type: ignore[misc]
    far.write(steps(6, 7))
    for seen in all_seen:
        seen.until(lambda seen=seen: seen.steps == list(range(1, 8)))  # type: ignore[misc]
        assert seen.states[-1] == "up"
    for seen in all_seen:
        seen.close()
        seen.source._fetching._connection.drop()


def test_a_master_that_sleeps_ends_nobody_else(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "CONTROL_SECONDS", 0.2)
    monkeypatch.setenv("PGS_TUI_SSH", sshd.ssh)
    connection = Connection(HOST)
    connection.open()
    (master,) = _processes_with(str(connection.socket))
    shell = connection.shell()
    shell.ask(CHECK, ".", 0)

    def wait() -> None:
        with pytest.raises(LinkLostError, match="was closed here"):
            shell._channel.read(None)

    waits = threading.Thread(target=wait)
    waits.start()
    os.kill(master, signal.SIGSTOP)
    try:
        shell.close()
        waits.join(PATIENCE)
        assert not waits.is_alive(), "the sleeping master keeps the channel's pipes open"
        connection.drop()
        with pytest.raises(LinkLostError, match="does not answer"):
            connection.reopen()
    finally:
        os.kill(master, signal.SIGCONT)
    monkeypatch.undo()
    connection.drop()


def test_the_way_through_another_host_is_that_of_the_ssh_config(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = sshd.config.read_text()
    (tmp_path / "config").write_text(text.replace("Host box", "Host gate") + text + "ProxyJump gate\n")
    monkeypatch.setenv("PGS_TUI_SSH", f"ssh -F {tmp_path}/config")
    logins = sshd.log.count("Accepted publickey")
    connection = Connection(HOST)
    connection.open()
    assert sshd.log.count("Accepted publickey") == logins + 2
    assert connection.shell().ask(CHECK, ".", 0).text("host")
    connection.drop()
    connection.reopen()
    assert connection.shell().ask(CHECK, ".", 0).text("host")
    connection.drop()


def test_two_that_log_in_at_once_make_one_connection(sshd: Sshd, tmp_path: Path) -> None:
    logins = sshd.log.count("Accepted publickey")
    code = "from pgs_tui.remote.ssh import Connection; Connection('box').open(); print('in')"
    variables = environment(tmp_path, PGS_TUI_SSH=sshd.through(sshd.port))
    command = (sys.executable, "-c", code)
    both = [subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in both] == ["in\n", "in\n"]
    assert sshd.log.count("Accepted publickey") == logins + 1
    Connection(HOST, tuple(variables["PGS_TUI_SSH"].split())).drop()


@pytest.mark.parametrize(
    "lines",
    [
        ("RemoteCommand touch PWNED", "RequestTTY force"),
        ("LocalForward 127.0.0.1:1 127.0.0.1:1", "ExitOnForwardFailure yes"),
        ("PermitLocalCommand yes", "LocalCommand touch PWNED"),
        ("ControlMaster auto", "ControlPath none", "ForwardAgent yes", "LogLevel DEBUG1"),
    ],
)
def test_what_a_person_has_set_for_interactive_logins_is_not_in_the_way(
    sshd: Sshd, lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGS_TUI_SSH", sshd.through(sshd.port, *lines))
    connection = Connection(HOST)
    connection.open()
    assert connection.shell().ask(CHECK, str(tmp_path), 0).status == 0
    connection.drop()
    assert not (tmp_path / "PWNED").exists()


def test_the_control_socket_lies_where_nobody_else_can_write() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        runtime = {"XDG_RUNTIME_DIR": short}
        folder = control_folder(runtime)
        assert folder.parent == Path(short) and folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o777)
        assert control_folder(runtime).stat().st_mode & 0o777 == 0o700
        folder.rmdir()
        folder.symlink_to(short)
        with pytest.raises(LinkLostError, match="not a folder of this user"):
            control_folder(runtime)
    assert control_folder({"XDG_RUNTIME_DIR": f"/{'x' * 100}"}).parent == Path("/tmp")


def test_another_ssh_is_a_list_of_words() -> None:
    assert ssh_command({}) == ("ssh",)
    assert ssh_command({"PGS_TUI_SSH": "ssh -F 'a b'; id"}) == ("ssh", "-F", "a b;", "id")
    with pytest.raises(LinkLostError, match="PGS_TUI_SSH"):
        ssh_command({"PGS_TUI_SSH": "ssh '"})


def test_without_ssh_there_is_a_sentence() -> None:
    with pytest.raises(LinkLostError, match="no-such-ssh cannot be started: No such file"):
        Connection(HOST, ("no-such-ssh",)).open()


def _processes_with(word: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = place.read_bytes()
        except OSError:
            continue
        if word.encode() in command:
            found.append(int(place.parent.name))
    return found


def _wait_for_end(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while process_start(pid) is not None:
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.01)
