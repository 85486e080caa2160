"""`pgs-tui attach`, `--once` and `export` with a path of another tool."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.health.foreign import ForeignLog
from pgs_tui.cli import main
from pgs_tui.foreign.foreign_run import ForeignRun
from pgs_tui.opening import source_of
from tests.foreign.samples import BOARD, STATE


@pytest.fixture(autouse=True)
def no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def test_a_path_that_is_no_run_is_one_of_another_tool() -> None:
    source = source_of(str(STATE))
    assert isinstance(source, ForeignRun)
    assert source.address == str(STATE)
    source.close()


def test_a_file_that_nobody_knows_is_refused_with_what_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("nothing of steps\n")
    assert main(["attach", "notes.txt"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("pgs-tui: notes.txt has no line that tells of a step; read are runs, trainer_state.json")
    assert told.count("\n") == 1


def test_it_is_printed_once_and_exported_into_the_folder_of_the_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--once", str(BOARD)]) == 0
    assert "runs/first" in capsys.readouterr().out
    assert main(["export", str(BOARD), "--csv"]) == 0
    table = (tmp_path / "steps-at-50.csv").read_text().splitlines()
    assert len(table) == 26
    assert table[1].startswith("2,1796058081.")


@pytest.mark.parametrize("seconds", [10**6, 0])
def test_the_last_line_of_a_log_is_told_at_once_and_no_epoch_where_none_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seconds: int
) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"{{'loss': {3 - number / 10:.1f}, 'learning_rate': 1e-5}}\n" for number in range(5)))
    written = time.time() - seconds
    os.utime(log, (written, written))
    assert main(["--once", str(log)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert "step 5 " in " ".join(first.split()) and "epoch" not in first


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.text(max_size=80) | st.sampled_from(["{'loss': 1}", "step,loss", "1,2", "10%|#| 1/9 [", "step=3 loss="])
    )
)
def test_no_line_of_a_log_is_too_odd(lines: list[str]) -> None:
    log = ForeignLog()
    for line in lines:
        list(log.take(line))
    list(log.rest())
