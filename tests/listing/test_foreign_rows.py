"""Training of other tools in the list of runs: found by names, summed up, watched and compared, never changed."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from pgs_tui.appearance.look import Look
from pgs_tui.apps.compare import CompareApp
from pgs_tui.goals import Attach, Compare
from pgs_tui.listing.as_text import print_runs
from pgs_tui.listing.finding import Place, Tally, find_runs
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.scanning import LocalScan
from pgs_tui.listing.words import model, size, state
from pgs_tui.opening import opened
from tests.foreign.samples import STATE, scalar
from tests.listing.making import end, fill, make_run
from tests.screens.inspecting import until
from tests.screens.listing import listed, texts

EVENTS = "events.out.tfevents.1700000000.box.1.0"


def rows(folder: Path, known: dict[Path, RunRow] | None = None) -> dict[str, RunRow]:
    return {found.row.path.name: found.row for found in LocalScan(folder, known).run()}


def board(folder: Path, losses: Iterable[float] = (3.0, 2.0, 2.5)) -> Path:
    folder.mkdir(parents=True)
    records = [scalar(step, "train/loss", loss) for step, loss in enumerate(losses, 1)]
    (folder / EVENTS).write_bytes(b"".join(records))
    return folder


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A folder with a run, what the Trainer left beside its checkpoints, and event files."""
    make_run(tmp_path / "all", "ours", ended=end())
    for step in (25, 50):
        shutil.copytree(STATE.parent, tmp_path / "all" / "hf" / f"checkpoint-{step}")
        fill(tmp_path / "all" / "hf" / f"checkpoint-{step}" / "model.safetensors", 300_000)
    board(tmp_path / "all" / "lightning" / "version_0")
    return tmp_path / "all"


def test_each_is_listed_with_its_tool_its_steps_and_its_size(trained: Path) -> None:
    found = rows(trained)
    assert set(found) == {next(trained.glob("*-ours")).name, "hf", "version_0"}, "no checkpoint, nothing within one"
    hf, events = found["hf"], found["version_0"]
    assert (state(hf), model(hf), model(events)) == (("◇", "foreign"), "by Trainer", "by TensorBoard")
    assert hf.summary is not None and (hf.summary.step, hf.summary.total_steps, hf.summary.status) == (
        50,
        50,
        "finished",
    )
    assert events.summary is not None and (events.summary.step, events.summary.loss) == (3, 2.5)
    assert events.summary.best == (2, 2.0) and events.started == 1_700_000_000.0 and events.seconds == 2.0
    assert hf.size is not None and hf.size >= 600_000, f"its checkpoints count: {size(hf.size)}"


def test_files_are_read_again_only_when_they_have_changed(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {row.path: row for row in rows(trained).values()}
    events = trained / "lightning" / "version_0" / EVENTS
    with monkeypatch.context() as patch:
        patch.setattr("pgs_tui.listing.summing.Summing._started", lambda self: pytest.fail("nothing is new"))
        assert rows(trained, known)["version_0"].summary == known[events.parent].summary
        assert rows(trained)["hf"].summary == known[trained / "hf"].summary, "remembered for the next time"
    with events.open("ab") as file:
        file.write(scalar(4, "train/loss", 1.0) + scalar(5, "train/loss", 1.5))
    first = next(found.row for found in LocalScan(trained, known).run() if found.row.path == events.parent)
    assert first.must_sum and first.summary == known[events.parent].summary, "what was known stays in sight meanwhile"
    again = rows(trained, known)["version_0"].summary
    assert again is not None and (again.step, again.best) == (5, (4, 1.0))


def test_event_files_above_runs_hide_none_of_them(tmp_path: Path) -> None:
    run = make_run(board(tmp_path / "logs") / "more", "ours")
    below = board(tmp_path / "logs" / "a" / "b")
    assert set(find_runs(tmp_path, Tally())) == {
        Place(run),
        Place(tmp_path / "logs", "TensorBoard"),
        Place(below, "TensorBoard"),
    }
    assert rows(tmp_path)["logs"].size == rows(tmp_path)["b"].size, "what lies below is not its own"


def test_what_only_looks_like_it_is_left_out_or_has_no_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checkpoint-7").mkdir(parents=True)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "trainer_state.json").write_text("no state")
    board(tmp_path / "long")
    monkeypatch.setattr("pgs_tui.listing.foreign.MOST_BYTES", 10)
    found = rows(tmp_path)
    assert set(found) == {"odd", "long"} and all(row.cannot_sum and row.summary is None for row in found.values())


def test_plain_and_json_tell_of_them(trained: Path) -> None:
    out = io.StringIO()
    print_runs(str(trained), out)
    assert "foreign" in out.getvalue() and "by Trainer" in out.getvalue()
    out = io.StringIO()
    print_runs(str(trained), out, as_json=True)
    told = {run["run"]: (run["status"], run["tool"], run["step"]) for run in json.loads(out.getvalue())["runs"]}
    assert told["hf"] == ("foreign", "Trainer", 50) and told["version_0"] == ("foreign", "TensorBoard", 3)


async def test_it_is_watched_and_compared_but_nothing_in_it_is_changed(trained: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in trained.rglob("*")}
    async with listed(trained) as (screen, pilot):
        await until(pilot, lambda: all(row.summary for row in screen.listing.rows.values()))
        screen.filter_by("status:foreign trainer")
        await pilot.pause()
        assert [row.name for row in screen.list.rows] == ["hf"]
        assert "Hugging Face's Trainer" in texts(screen)["details"] and "by Trainer" in texts(screen)["runs"]
        for key in ("D", "t", "n", "R"):
            await pilot.press(key)
            assert "another tool" in texts(screen)["keys"], key
            screen.key_bar.quiet()
        screen.filter_by("")
        for row in screen.listing.shown():
            screen.listing.toggle_mark(row.path)
        await pilot.press("C")
        await until(pilot, lambda: pilot.app.return_value)
    wish = pilot.app.return_value.next
    assert isinstance(wish, Compare) and len(wish.runs) == 3
    app = CompareApp(opened(wish), Look())  # type: ignore[arg-type]
    async with app.run_test(size=(140, 36)) as pilot:
        runs = app.compare_screen.comparison.runs
        await until(pilot, lambda: {one.history.last_step for one in runs} == {3, 50})
    for one in runs:
        one.live.source.close()
    assert before == {path: path.stat().st_mtime_ns for path in trained.rglob("*")}


async def test_enter_opens_its_folder_and_comes_back(trained: Path) -> None:
    async with listed(trained / "lightning") as (_, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.return_value)
    wish = pilot.app.return_value.next
    assert isinstance(wish, Attach) and wish.run == str(trained / "lightning" / "version_0") and wish.back
    source = opened(wish).source  # type: ignore[union-attr]
    assert "control" not in source.abilities
    source.close()
