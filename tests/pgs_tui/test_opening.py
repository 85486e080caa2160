import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.rundir import RunDir, register_run, this_process, write_run_info
from pgs_tui.opening import find_run

HOURS = 3600.0


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def a_run(folder: Path, host: str = "", silent: float = 0.0, ended: bool = False) -> RunDir:
    """A run of this process, or of one on another host, whose log grew last so many seconds ago."""
    run = RunDir(folder)
    folder.mkdir()
    info = this_process(run, folder.name)
    write_run_info(run, replace(info, host=host, boot_id="another", pid_namespace="") if host else info)
    end = {"v": 1, "t": time.time() + 1, "event": "end", "status": "finished", "reason": "", "exit_code": 0}
    run.events.write_text(json.dumps({**end, "last_step": 1}) + "\n" if ended else "\n")
    moment = time.time() - silent
    os.utime(run.events, (moment, moment))
    register_run(run, folder.name, time.time())
    return run


def test_without_a_word_the_newest_run_that_is_going_here_is_meant(tmp_path: Path) -> None:
    a_run(tmp_path / "one")
    here = a_run(tmp_path / "two")
    a_run(tmp_path / "three", ended=True)
    a_run(tmp_path / "four", host="gpu-node")
    assert find_run(None) == here


def test_a_run_of_another_machine_is_meant_while_it_writes_and_none_is_going_here(tmp_path: Path) -> None:
    there = a_run(tmp_path / "there", host="gpu-node")
    a_run(tmp_path / "ended", ended=True)
    assert find_run(None) == there


def test_a_run_of_another_machine_that_fell_silent_is_not_preferred_to_one_that_has_just_ended(tmp_path: Path) -> None:
    a_run(tmp_path / "there", host="gpu-node", silent=240 * HOURS)
    ended = a_run(tmp_path / "ended", ended=True)
    assert find_run(None) == ended
