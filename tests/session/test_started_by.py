"""What an engine was started by, in words."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.rundir import RunDir
from engine.session.started_by import started_by

SLICE = "0::/user.slice/user-1000.slice"


@pytest.fixture(autouse=True)
def hangup_as_usual() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("environment", "cgroup", "words"),
    [
        ({"SLURM_JOB_ID": "4711", "TMUX": "/tmp/x"}, "", "Slurm job 4711"),
        ({}, f"{SLICE}/user@1000.service/app.slice/run-u12.service", "systemd unit run-u12.service"),
        ({}, "12:pids:/\n0::/system.slice/finetune.service", "systemd unit finetune.service"),
        ({"TMUX": "/tmp/x"}, f"{SLICE}/user@1000.service/app.slice/run-r5a.scope", "systemd unit run-r5a.scope"),
        ({"TMUX": "/tmp/x"}, f"{SLICE}/session-3.scope", "tmux"),
        ({"TMUX": "/tmp/x"}, "0::/system.slice/sshd.service", "tmux"),
        ({"STY": "1.tty"}, f"{SLICE}/session-3.scope", "screen"),
        ({}, "0::/", None),
    ],
)
def test_a_run_says_where_to_look_for_it(
    tmp_path: Path, environment: dict[str, str], cgroup: str, words: str | None
) -> None:
    (tmp_path / "cgroup").write_text(cgroup + "\n")
    found = started_by(RunDir(tmp_path), environment, tmp_path / "cgroup")
    assert found == words if words is not None else found in ("", "terminal")


def test_a_hangup_that_means_nothing_is_nohup_or_the_like(tmp_path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert started_by(RunDir(tmp_path), {}, tmp_path / "none") == "nohup"
