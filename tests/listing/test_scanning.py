"""What a folder of runs is found to hold."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from engine.events.codec import encode
from engine.rundir import RunDir, register_run
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.scanning import LocalScan
from pgs_tui.listing.summing import remembered
from tests.listing.making import alert, end, evaluation, fill, make_run, start
from tests.pgs_tui.making import step


def rows(folder: Path | None, known: dict[Path, RunRow] | None = None) -> dict[Path, RunRow]:
    """The newest of what is found of each run."""
    return {found.row.path: found.row for found in LocalScan(folder, known).run()}


def test_every_run_below_a_folder_with_what_it_came_to(tmp_path: Path) -> None:
    done = make_run(tmp_path / "a", "qwen/small", evaluation(3, 2.1), alert("x"), ended=end())
    going = make_run(tmp_path / "b" / "c", live=True)
    gone = make_run(tmp_path, losses=(3.0, float("nan")))
    fill(done / "checkpoints" / "step-3" / "model.safetensors", 100_000)
    found = rows(tmp_path)
    assert set(found) == {done, going, gone}
    one = found[done]
    assert one.summary is not None and (one.summary.step, one.summary.total_steps, one.summary.loss) == (3, 10, 2.5)
    assert (one.name, one.shown, one.life) == ("qwen/small", "a/20260101-120000-qwen-small", "finished")
    assert (one.summary.best, one.summary.alert_count, one.summary.model) == ((3, 2.1), 1, "Qwen/Qwen3-4B")
    assert one.seconds == 7.0 and one.size is not None and one.size >= 100_000
    assert (found[going].life, found[gone].life) == ("live", "killed")


def test_what_is_within_a_run_is_no_run_and_a_folder_that_links_lead_to_comes_once(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    make_run(run / "exports")
    (tmp_path / "also").symlink_to(tmp_path / "runs")
    (tmp_path / "runs" / "back").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "nothing")
    assert len(rows(tmp_path)) == 1
    assert set(rows(run)) == {run}, "a run's own folder is a list of one"


def test_folders_that_are_odd_are_named(tmp_path: Path) -> None:
    broken, empty, silent = make_run(tmp_path, "broken"), tmp_path / "20260101-120000-empty", make_run(tmp_path, "s")
    (broken / "run.json").write_text("{" * 100_000)
    (broken / "events.jsonl").write_bytes(b"\x00\xff\n" * 1000)
    (broken / "summary.json").mkdir()
    (broken / "notes.json").write_text("[]")
    empty.mkdir()
    (silent / "events.jsonl").unlink()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "run.txt").write_text("nothing of ours")
    found = rows(tmp_path)
    assert {path.name: row.trouble for path, row in found.items()} == {
        "20260101-120000-broken": "its run.json cannot be read",
        "20260101-120000-empty": "it holds neither run.json nor events.jsonl",
        "20260101-120000-s": "it has no events.jsonl",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_that_may_not_be_looked_into_is_named(tmp_path: Path) -> None:
    closed = make_run(tmp_path).rename(tmp_path / "closed")
    closed.chmod(0)
    try:
        (row,) = rows(tmp_path).values()
        assert row.life is None and row.trouble == "may not be read: Permission denied"
    finally:
        closed.chmod(0o700)


def test_a_summary_is_believed_as_far_as_it_goes_and_the_log_from_there(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    first = rows(tmp_path)[run].summary
    assert first is not None
    from engine.events.summary import summary_text

    (run / "summary.json").write_text(summary_text(first))
    with RunDir(run).events.open("a") as log:
        log.write(encode(step(4, 1.0), 1010.0) + "\n" + encode(end("stopped", "asked"), 1011.0) + "\n")
    row = rows(tmp_path)[run]
    assert row.summary is not None and (row.summary.step, row.summary.lows[-1]) == (4, (4, 1.0))
    assert row.life == "stopped" and row.summary.reason == "asked"


def test_a_long_log_without_a_summary_is_read_once_by_another_process(tmp_path: Path) -> None:
    run = make_run(tmp_path, losses=[4 - n / 2000 for n in range(4000)])
    assert RunDir(run).events.stat().st_size > 1_200_000
    first, second = LocalScan(tmp_path).run()
    assert first.row.must_sum and first.row.summary is None, "the list does not wait for it"
    assert not second.row.must_sum and second.row.summary is not None
    assert (second.row.summary.step, second.row.summary.alert_count) == (4000, 0)
    assert remembered()[run].summary == second.row.summary
    again = next(iter(LocalScan(tmp_path).run()))
    assert not again.row.must_sum and again.row.summary == second.row.summary


def test_a_long_file_that_is_no_log_is_tried_once(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    RunDir(run).events.write_bytes(b"\xff" * 2_000_000)
    known = rows(tmp_path)
    assert known[run].cannot_sum and known[run].life == "killed"
    again = list(LocalScan(tmp_path, known).run())
    assert len(again) == 1 and again[0].row.cannot_sum, "it is not read again and again behind the screen"


def test_what_is_known_of_a_run_is_not_read_again(tmp_path: Path) -> None:
    run = make_run(tmp_path, ended=end())
    known = rows(tmp_path)
    fill(run / "other", 500_000)
    again = rows(tmp_path, known)
    assert again[run].size == known[run].size, "sizes are looked up when a checkpoint has come, or on wish"
    assert again[run].summary == known[run].summary
    assert again[run].summary is not known[run].summary, "what is shown does not change behind the screen's back"


def test_the_runs_that_are_known_here_without_a_folder(tmp_path: Path) -> None:
    one = make_run(tmp_path / "a")
    make_run(tmp_path / "b")
    register_run(RunDir(one), "small", 1.0)
    assert set(rows(None)) == {one} and rows(None)[one].shown == str(one)


def test_hundreds_of_runs(tmp_path: Path) -> None:
    for number in range(300):
        run = tmp_path / f"20260101-120000-r-{number}"
        run.mkdir()
        (run / "events.jsonl").write_text(encode(start(), 1.0) + "\n" + encode(step(number), 2.0) + "\n")
    found = rows(tmp_path)
    assert sorted(row.summary.step for row in found.values() if row.summary and row.summary.step) == list(range(1, 300))


def test_a_search_can_be_stopped(tmp_path: Path) -> None:
    for number in range(3):
        make_run(tmp_path, f"r{number}", losses=[4 - n / 2000 for n in range(4000)])
    scan = LocalScan(tmp_path)
    looked = scan.run()
    next(looked)
    scan.stop()
    assert list(looked) == []
    scan, found = LocalScan(tmp_path), []
    thread = threading.Thread(target=lambda: found.extend(scan.run()))
    thread.start()
    scan.stop()
    thread.join()
    assert len(found) <= 6, "and while a log is being read"


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(LocalScan(tmp_path / "none").run())
