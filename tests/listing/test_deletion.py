"""A run is deleted whole or not at all, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pgs_tui.listing.deletion import NotDeletedError, delete, deletion_of, finish
from pgs_tui.listing.finding import Tally, find_runs
from tests.listing.making import end, fill, make_run

HOLDING = """
import sys, pathlib
from engine.rundir import RunDir
from engine.session.lock import RunLock
RunLock(RunDir(pathlib.Path(sys.argv[1]))).take()
print("held", flush=True)
sys.stdin.read()
"""


def test_it_says_what_would_go_and_then_it_is_gone(tmp_path: Path) -> None:
    run, other = make_run(tmp_path, ended=end()), make_run(tmp_path, "other")
    fill(run / "checkpoints" / "step-3" / "model.safetensors", 200_000)
    (run / "checkpoints" / "best").symlink_to("step-3")
    planned = deletion_of(run, tmp_path)
    assert (planned.checkpoints, planned.files) == (1, 4) and planned.size >= 200_000
    assert run.exists(), "looking deletes nothing"
    delete(planned, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [other.name]


def test_links_within_a_run_are_not_followed(tmp_path: Path) -> None:
    run, kept = make_run(tmp_path / "runs"), tmp_path / "kept"
    fill(kept / "model.safetensors", 10)
    (run / "weights").symlink_to(kept)
    (run / "file").symlink_to(kept / "model.safetensors")
    delete(deletion_of(run, tmp_path / "runs"), tmp_path / "runs")
    assert (kept / "model.safetensors").exists() and not run.exists()


def test_what_is_no_run_below_the_folder_stays(tmp_path: Path) -> None:
    runs, run = tmp_path / "runs", make_run(tmp_path / "elsewhere")
    runs.mkdir()
    (runs / "linked").symlink_to(run)
    (runs / "through").symlink_to(tmp_path / "elsewhere")
    (runs / "20260101-120000-work").mkdir()
    (runs / "20260101-120000-work" / "thesis.tex").write_text("years")
    (runs / "file").write_text("")
    outside = [run, runs / "linked", runs / "through" / run.name, runs / ".." / "elsewhere" / run.name]
    for path in [*outside, runs, tmp_path, runs / "20260101-120000-work", runs / "file", runs / "none"]:
        with pytest.raises(NotDeletedError):
            deletion_of(path, runs)
    assert run.exists() and (runs / "20260101-120000-work" / "thesis.tex").exists()


def test_a_start_that_came_to_nothing_can_go(tmp_path: Path) -> None:
    run = tmp_path / "20260101-120000-small"
    run.mkdir()
    (run / "console.log").write_text("ImportError")
    os.utime(run, (1, 1))
    delete(deletion_of(run, tmp_path), tmp_path)
    assert not run.exists()


def test_a_run_that_goes_on_stays(tmp_path: Path) -> None:
    run = make_run(tmp_path, live=True)
    with pytest.raises(NotDeletedError, match="still going on"):
        deletion_of(run, tmp_path)


def test_a_run_that_another_engine_holds_stays(tmp_path: Path) -> None:
    run = make_run(tmp_path, ended=end())
    planned = deletion_of(run, tmp_path)
    engine = subprocess.Popen(
        (sys.executable, "-c", HOLDING, str(run)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert engine.stdout is not None and engine.stdout.readline() == "held\n"
        for attempt in (lambda: deletion_of(run, tmp_path), lambda: delete(planned, tmp_path)):
            with pytest.raises(NotDeletedError, match="an engine is at work"):
                attempt()
        assert (run / "events.jsonl").exists()
    finally:
        engine.communicate()
    delete(planned, tmp_path)
    assert not run.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_nothing_goes_where_not_all_can_go(tmp_path: Path) -> None:
    run = make_run(tmp_path, ended=end())
    fill(run / "checkpoints" / "step-1" / "model", 10)
    (run / "checkpoints").chmod(0o500)
    try:
        with pytest.raises(NotDeletedError, match="nothing was deleted"):
            deletion_of(run, tmp_path)
        assert (run / "events.jsonl").exists() and (run / "checkpoints" / "step-1" / "model").exists()
    finally:
        (run / "checkpoints").chmod(0o700)


def test_what_a_deletion_left_behind_is_no_run_any_more_and_can_be_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, ended=end())

    def broken(path: Path) -> None:
        raise OSError(5, "Input/output error", str(path / "checkpoints"))

    with monkeypatch.context() as patched:
        patched.setattr("pgs_tui.listing.deletion.shutil.rmtree", broken)
        with pytest.raises(NotDeletedError, match=r"what is left is in .*\.removed-"):
            delete(deletion_of(run, tmp_path), tmp_path)
    tally = Tally()
    assert list(find_runs(tmp_path, tally)) == [] and len(tally.removed) == 1
    finish(tally.removed[0])
    assert list(tmp_path.iterdir()) == []
