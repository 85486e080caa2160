"""Another machine that has `sh`, `tail` and `cat`, and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.programs import APPEND, CHECK, FOLLOW, LIST, SPIKE, SURVEY
from pgs_tui.remote.ssh import Connection
from tests.remote.sshd import HOST, serving


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("bare")
    programs = folder / "bin"
    programs.mkdir()
    for name in ("sh", "tail", "cat"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    with serving(folder / "sshd", f"SetEnv PATH={programs}") as server:
        connection = Connection(HOST, tuple(server.ssh.split()))
        connection.open()
        yield connection
        connection.drop()


@pytest.fixture
def shell(bare: Connection) -> Iterator[FarShell]:
    shell = bare.shell()
    yield shell
    shell.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = tmp_path / "runs" / "a run"
    (run / "spikes").mkdir(parents=True)
    (run / "run.json").write_text(f'{{\n  "pid": {os.getpid()},\n  "x": 1\n}}\n')
    (run / "events.jsonl").write_bytes(b"one\ntwo\n")
    (run / "spikes" / "step-3.json").write_text("{}")
    return run


def test_it_tells_who_runs_and_that_the_size_is_not_known(shell: FarShell, run: Path) -> None:
    survey = shell.ask(SURVEY, str(run), 64, 4, 64, 64)
    assert survey.text("folder") == str(run)
    assert survey.text("log") == "- -"
    assert survey["process"].startswith(str(os.getpid()).encode())
    assert survey.text("spikes") == "step-3.json"
    assert survey["whole"] == b"one\ntwo\n"
    check = shell.ask(CHECK, str(run), 4)
    assert check.text("log") == "- -" and "before" not in check and check.text("host") == os.uname().nodename


def test_a_log_that_is_too_long_for_one_answer_is_not_cut(shell: FarShell, run: Path) -> None:
    (run / "events.jsonl").write_bytes(b"one\n" * 1000)
    survey = shell.ask(SURVEY, str(run), 64, 4, 64, 64)
    assert "whole" not in survey and "tail" not in survey


def test_its_log_is_followed_from_any_byte(bare: Connection, run: Path) -> None:
    stream = bare.shell().stream(FOLLOW, str(run), "events.jsonl", 4)
    news = iter(stream)
    assert next(news) == b"two\n"
    with (run / "events.jsonl").open("ab") as log:
        log.write(b"three\n")
    assert next(news) == b"three\n"
    stream.close()


def test_its_runs_are_listed_steered_and_their_spikes_read(shell: FarShell, run: Path) -> None:
    listed = shell.ask(LIST, str(run.parent), 4, 1, 100)
    assert listed.text("name") == "a run" and listed["tail"] == b"two\n"
    assert shell.ask(APPEND, str(run), '{"cmd": "stop"}').text("result") == "written"
    assert (run / "control.jsonl").read_text() == '{"cmd": "stop"}\n'
    assert (run / "control.jsonl").stat().st_mode & 0o777 == 0o600
    assert shell.ask(SPIKE, str(run), 3)["spike"] == b"{}"
