"""A run that may not be read is not said to be killed, nor to go on: nobody here can tell."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import pytest

from engine.control import control_command
from engine.rundir import RunDir, liveness, this_process, write_run_info
from pgs_tui.appearance.look import Look
from pgs_tui.drawing.lines import text_of
from pgs_tui.export.command import export
from pgs_tui.export.frame import Sheet, frame_of
from pgs_tui.export.frame_as_json import document
from pgs_tui.export.frame_as_text import frame_as_text
from pgs_tui.export.reading import read_run
from pgs_tui.listing.deletion import NotDeletedError, deletion_of
from pgs_tui.listing.reading import read_row
from pgs_tui.listing.words import state_in_words
from pgs_tui.plain import watch
from pgs_tui.runs.source import LocalRun
from tests.listing.making import make_run

FILES = ("events.jsonl", "run.json")


@pytest.fixture(params=FILES)
def closed(request: pytest.FixtureRequest, tmp_path: Path) -> RunDir:
    """A run that finished, and one of its files opens for nobody, root neither: a folder has its name."""
    run = RunDir(make_run(tmp_path))
    file = run.path / request.param
    if request.param == "run.json":  # and the log has no end
        lines = run.events.read_text().splitlines(keepends=True)
        run.events.write_text("".join(line for line in lines if '"end"' not in line))
    file.unlink()
    file.mkdir()
    return run


def test_nobody_says_that_it_was_killed_or_goes_on(closed: RunDir) -> None:
    assert liveness(closed) == "unreadable"
    row = read_row(closed.path, "it")
    assert row.life is None and "may not be read" in state_in_words(row, 0.0) and "Is a directory" in row.trouble
    read = read_run(closed)
    frame = frame_of(read, Sheet(80, "ascii"))
    text = "\n".join(text_of(one) for one in frame_as_text(frame))
    assert "killed" not in text and "vanished" not in text and "?" in text
    assert document(frame)["outcome"] == "unknown" and document(frame)["remaining"] is None
    assert "cannot be told" in read.live.farewell() and "killed" not in read.live.farewell()
    assert not [one for one in read.live.incidents() if one.code == "ENGINE_DEAD"]


def test_no_empty_export_is_made_of_a_log_that_cannot_be_read(
    closed: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    out = io.StringIO()
    code = export(LocalRun(closed), "csv", None, "-", Look(), out)
    can_be_read = closed.events.is_file()
    assert (code == 0) == can_be_read == bool(out.getvalue())
    assert ("the log cannot be read: Is a directory" in capsys.readouterr().err) != can_be_read


def test_it_is_not_deleted_and_no_command_is_written_for_it(closed: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotDeletedError, match="may not be read"):
        deletion_of(closed.path, closed.path.parent)
    asked = argparse.Namespace(run=str(closed.path), cmd="stop", factor=None, no_wait=False, json=False)
    assert control_command(asked, []) != 0
    assert "may not be read" in capsys.readouterr().err
    assert not closed.control.exists()


def test_who_follows_a_log_that_cannot_be_read_is_told_so(tmp_path: Path) -> None:
    run = RunDir(make_run(tmp_path))
    run.events.unlink()
    run.events.mkdir()
    out = io.StringIO()
    assert watch(LocalRun(run), out, wait=lambda seconds: None) == 1
    assert "its log cannot be read: Is a directory" in out.getvalue() and "killed" not in out.getvalue()


def test_an_engine_that_is_seen_to_live_does_even_where_its_log_may_not_be_read(tmp_path: Path) -> None:
    run = RunDir(make_run(tmp_path))
    write_run_info(run, this_process(run, "it"))
    run.events.unlink()
    run.events.mkdir()
    assert liveness(run) == "live"
