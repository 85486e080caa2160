"""The list of runs on another machine, over a real sshd."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from engine.events.codec import encode
from engine.events.summary import RunSummary, summary_text
from pgs_tui.goals import Attach, ListRuns
from pgs_tui.listing.as_text import print_runs
from pgs_tui.listing.far import FarScan
from pgs_tui.listing.labels import Labels, write_labels
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.scanning import LocalScan
from pgs_tui.listing.words import alerts_in_words
from pgs_tui.remote.address import Address
from pgs_tui.remote.ssh import Connection
from tests.listing.making import alert, end, evaluation, fill, make_run
from tests.pgs_tui.making import step
from tests.remote.sshd import HOST, Sshd
from tests.screens.hosting import screen_text
from tests.screens.listing import listed, texts, until


def rows(folder: Path) -> dict[str, RunRow]:
    return {found.row.id: found.row for found in FarScan(Address(HOST, str(folder))).run()}


def test_it_says_the_same_as_over_there(box: Connection, tmp_path: Path) -> None:
    runs = tmp_path / "it's $(touch PWNED); `runs`"
    done = make_run(runs, "qwen/small", evaluation(3, 2.1), alert("a"), ended=end())
    write_labels(done, Labels(("good",), "the long one"))
    fill(done / "checkpoints" / "step-3" / "model", 500_000)
    going = make_run(runs / "deeper", "live", live=True)
    gone = make_run(runs, "gone", losses=(3.0, float("nan")))
    make_run(gone / "exports", "no run of its own")
    (runs / "linked").symlink_to(done)
    (runs / "20260101-120000-odd; touch PWNED").mkdir()
    (runs / "other" / "run.json").parent.mkdir()
    (runs / "other" / "run.json").write_text("{" * 1000)
    found = rows(runs)
    assert set(found) == {done.name, going.name, gone.name, "other"}
    one = found[done.name]
    assert (one.life, one.name, one.labels) == ("finished", "qwen/small", Labels(("good",), "the long one"))
    assert one.summary is not None and (one.summary.best, one.summary.alert_count) == ((3, 2.1), 1)
    assert one.size is not None and one.size >= 500_000 and one.address == f"box:{done}"
    assert (found[going.name].life, found[gone.name].life) == ("live", "killed")
    assert found[going.name].shown == f"deeper/{going.name}" and found["other"].trouble == "its run.json cannot be read"
    assert not list(tmp_path.rglob("PWNED"))


def test_it_looks_as_deep_as_here_and_not_without_end(
    box: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, runs = tmp_path, []
    for level in "abcdef":
        runs.append(make_run(folder, f"below-{level}"))
        folder = folder / level
    make_run(tmp_path / "venv", "no run")
    make_run(tmp_path / "env" / "lib", "no run")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    here = {found.row.id for found in LocalScan(tmp_path).run()}
    assert set(rows(tmp_path)) == here == {run.name for run in runs[:4]}
    monkeypatch.setattr("pgs_tui.listing.far.MOST_FOLDERS", 3)
    scan = FarScan(Address(HOST, str(tmp_path)))
    assert len(list(scan.run())) <= 3 and scan.tally.cut


def test_a_long_log_is_told_by_its_summary_and_its_end(box: Connection, tmp_path: Path) -> None:
    run = make_run(tmp_path, "long", losses=[4 - n / 2000 for n in range(2000)])
    row = rows(tmp_path)[run.name]
    assert row.summary is not None and (row.summary.step, row.life) == (2000, "killed"), "its end is brought"
    assert row.must_sum and row.summary.best is None and row.seconds is None, "what is not known is not made up"
    log = run / "events.jsonl"
    (run / "summary.json").write_text(summary_text(RunSummary(step=2000, log_bytes=log.stat().st_size, model="m")))
    with log.open("a") as file:
        file.write(encode(step(2001, 0.5), 4000.0) + "\n")
    summary = rows(tmp_path)[run.name].summary
    assert summary is not None and (summary.step, summary.best, summary.model) == (2001, (2001, 0.5), "m")


def test_how_a_long_log_without_a_summary_ended(box: Connection, tmp_path: Path) -> None:
    ended = end("stopped", "asked")
    run = make_run(tmp_path, "long", losses=[4 - n / 2000 for n in range(2000)], ended=ended)
    row = rows(tmp_path)[run.name]
    assert row.life == "stopped" and row.summary is not None and row.summary.reason == "asked"
    assert alerts_in_words(row) == "not known"


def test_a_run_of_its_own_and_a_folder_that_is_not_there(box: Connection, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert set(rows(run)) == {run.name}
    with pytest.raises(FileNotFoundError, match="box has no folder"):
        rows(tmp_path / "none")


def test_the_plain_list_and_its_json(box: Connection, tmp_path: Path) -> None:
    run = make_run(tmp_path, ended=end())
    out = io.StringIO()
    assert print_runs(f"{HOST}:{tmp_path}", out, as_json=True) == 0
    (told,) = json.loads(out.getvalue())["runs"]
    assert (told["path"], told["status"]) == (f"box:{run}", "finished")
    with pytest.raises(ValueError, match="box has no folder"):
        print_runs(f"{HOST}:{tmp_path}/none", io.StringIO())


def test_a_machine_that_cannot_be_reached_is_one_sentence(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGS_TUI_SSH", sshd.through(1))
    with pytest.raises(ValueError, match=r"box: .*[Rr]efused"):
        print_runs(f"{HOST}:runs", io.StringIO())


def test_stopping_ends_what_runs_over_there(box: Connection, tmp_path: Path) -> None:
    for number in range(5):
        make_run(tmp_path, f"r{number}")
    scan = FarScan(Address(HOST, str(tmp_path)))
    looked = scan.run()
    next(looked)
    scan.stop()
    assert list(looked) == []


async def test_on_the_screen_what_needs_the_other_machine_says_so(box: Connection, tmp_path: Path) -> None:
    run = make_run(tmp_path, "small", ended=end("stopped", "asked"))
    async with listed(f"{HOST}:{tmp_path}") as (screen, pilot):
        assert "box:…" in texts(screen)["status"] and "■ stopped" in texts(screen)["runs"]
        for key in ("D", "t", "n"):
            await pilot.press(key)
            assert "only the list on box itself does that" in texts(screen)["keys"]
            screen.key_bar.quiet()
        await pilot.press("R")
        await until(pilot, lambda: "It takes the Python of box" in "\n".join(screen_text(screen.app)))
        assert pilot.app.clipboard.startswith("pgs train --config") and pilot.app.clipboard.endswith("auto")
        await pilot.press("escape")
        await pilot.press("enter")
        await until(pilot, lambda: screen.app.return_value)
        wish = screen.app.return_value.next
        assert isinstance(wish, Attach) and wish.run == f"box:{run}"
        assert isinstance(wish.back, ListRuns) and wish.back.folder == f"box:{tmp_path}"


async def test_a_link_that_is_lost_leaves_the_list_and_says_why(box: Connection, tmp_path: Path) -> None:
    make_run(tmp_path, "small", ended=end())
    async with listed(f"{HOST}:{tmp_path}") as (screen, pilot):
        box.drop()
        screen.listing.where = Address(HOST, str(tmp_path / "none"))
        await pilot.press("r")
        await until(pilot, lambda: "box has no folder" in texts(screen)["status"])
        assert "small" in texts(screen)["runs"], "what was known stays"
