"""The list of runs: what its keys do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from engine.rundir import RunDir
from pgs_tui.apps.themed import Goodbye
from pgs_tui.goals import Attach, AttachTo, Compare, ListRuns, Replay
from pgs_tui.listing.labels import read_labels
from pgs_tui.runs.launcher import Launched
from screens.runs.screen import RunsScreen
from tests.listing.making import end, fill, make_run
from tests.screens.hosting import screen_text
from tests.screens.listing import listed, texts, until

CONFIG = "model:\n  name_or_path: {model}\n  trust_remote_code: {trusts}\ndata:\n  dataset: {data}\n"


@pytest.fixture
def runs(here: Path) -> Path:
    """Eight stopped runs, the newest first: r0 to r7; r3 has the lowest loss."""
    for number in range(8):
        losses = (3.0, 1.0 if number == 3 else 2.0 + number / 10)
        make_run(here / "runs", f"r{number}", losses=losses, ended=end("stopped", "asked"), began=9000.0 - number * 100)
    return here / "runs"


def shown(pilot: Pilot[Goodbye]) -> str:
    return "\n".join(screen_text(pilot.app))


def names(screen: RunsScreen) -> str:
    return " ".join(row.name for row in screen.list.rows)


async def write(pilot: Pilot[Goodbye], key: str, written: str) -> None:
    await pilot.press(key)
    await until(pilot, lambda: pilot.app.screen.query(Input))
    pilot.app.screen.query_one(Input).value = written
    await pilot.press("enter")
    await pilot.pause()


async def test_enter_attaches_and_comes_back_to_the_list_as_it_was(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        await write(pilot, "slash", "-r1")
        await pilot.press("s", "down", "m", "enter")
        await until(pilot, lambda: screen.app.return_value)
        wish = screen.app.return_value.next
        assert isinstance(wish, Attach) and wish.run == str(screen.list.row.path) and isinstance(wish.back, ListRuns)
    async with listed(runs, goal=wish.back) as (again, _):
        assert again.view == screen.view and again.list.row.path == Path(wish.run)
        assert again.listing.filter == "-r1" and len(again.listing.marked) == 1


async def test_words_and_keys_filter_and_esc_shows_all_again(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        await write(pilot, "slash", "status:stopped r5")
        assert names(screen) == "r5" and "1 of 8" in texts(screen)["runs"]
        await write(pilot, "slash", "tag:nothing")
        assert "no run has tag:nothing; Esc shows all" in texts(screen)["runs"]
        await pilot.press("escape")
        assert names(screen) == "r0 r1 r2 r3 r4 r5 r6 r7"


async def test_the_selected_run_stays_selected_in_every_order(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        await pilot.press("end")
        for _ in range(10):
            await pilot.press("s")
            assert screen.list.row.name == "r7"
        while screen.listing.order.key != "loss":
            await pilot.press("s")
        assert names(screen).startswith("r3") and "by loss, lowest first" in texts(screen)["keys"]
        await pilot.press("S")
        assert names(screen).endswith("r3") and "loss↓" in texts(screen)["runs"]


async def test_tags_and_notes_are_kept_in_the_run(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        await write(pilot, "t", "#good, lr-sweep")
        await write(pilot, "n", "the long one")
        assert "#good #lr-sweep · note: the long one" in texts(screen)["keys"]
        path = screen.list.row.path
        assert read_labels(path).tags == ("good", "lr-sweep") and read_labels(path).note == "the long one"
        assert "#good #lr-sweep" in texts(screen)["details"] and "the long one" in texts(screen)["details"]
        await write(pilot, "t", "a:b")
        assert "a tag is a word without colons" in texts(screen)["keys"]
        await write(pilot, "slash", "tag:good")
        assert names(screen) == "r0"


async def test_two_to_six_marked_runs_are_compared(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        await pilot.press("m", "C")
        assert "2 to 6" in texts(screen)["keys"] and screen.app.return_value is None
        await pilot.press("m", "m", "m", "m", "m", "m")
        assert "6 runs are marked" in texts(screen)["keys"] and len(screen.listing.marked) == 6
        await pilot.press("home", "m", "C")
        await until(pilot, lambda: screen.app.return_value)
        wish = screen.app.return_value.next
        assert isinstance(wish, Compare) and [Path(run).name[-2:] for run in wish.runs] == [
            "r1",
            "r2",
            "r3",
            "r4",
            "r5",
        ]
        assert isinstance(wish.back, ListRuns)


async def test_a_run_that_is_over_can_be_played_again(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        await pilot.press("v")
        await until(pilot, lambda: screen.app.return_value)
        assert isinstance(screen.app.return_value.next, Replay)


async def test_deleting_asks_with_the_size_and_enter_alone_deletes_nothing(runs: Path) -> None:
    run = next(runs.glob("*-r0"))
    fill(run / "checkpoints" / "step-2" / "model.safetensors", 2_000_000)
    fill(run / "final" / "model.safetensors", 10)
    async with listed(runs) as (screen, pilot):
        await pilot.press("D")
        await until(pilot, lambda: "Delete it" in shown(pilot))
        assert "2.0 MB in 4 files, 1 checkpoint and the final model among them" in " ".join(
            shown(pilot).replace("│", " ").split()
        )
        await pilot.press("enter")
        await pilot.pause()
        assert run.exists()
        await pilot.press("D")
        await until(pilot, lambda: "Delete it" in shown(pilot))
        await pilot.press("up", "enter")
        await until(pilot, lambda: names(screen) == "r1 r2 r3 r4 r5 r6 r7")
        assert not run.exists() and screen.list.row.name == "r1", "the next one is selected"
        assert [path.name for path in runs.iterdir() if path.name.startswith(".")] == []


async def test_a_run_that_goes_on_is_neither_deleted_nor_resumed_nor_played(here: Path) -> None:
    make_run(here / "runs", "live", live=True)
    async with listed(here / "runs") as (screen, pilot):
        for key in ("D", "R", "v"):
            await pilot.press(key)
            await until(pilot, lambda: "still going on" in texts(screen)["keys"])
            screen.key_bar.quiet()
            assert len(screen.app.screen_stack) == 1


async def test_what_a_broken_deletion_left_is_taken_away(runs: Path) -> None:
    rest = runs / ".removed-20260101-120000-x-0a1b2c3d"
    fill(rest / "checkpoints" / "file", 10)
    async with listed(runs) as (screen, pilot):
        assert "1 half deleted" in texts(screen)["runs"]
        await pilot.press("D")
        await until(pilot, lambda: "half deleted" not in texts(screen)["runs"])
        assert not rest.exists() and len(list(runs.iterdir())) == 8


async def test_resuming_asks_and_starts_the_engine_in_the_runs_own_folder(
    runs: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = next(runs.glob("*-r0"))
    (here / "chats.jsonl").write_text('{"messages": []}\n')
    (run / "config.yaml").write_text(CONFIG.format(model="some/model", trusts="true", data=here / "chats.jsonl"))
    started: list[Path] = []

    def resume(folder: RunDir) -> Launched:
        started.append(folder.path)
        return Launched(folder, subprocess.Popen(("true",)))

    monkeypatch.setattr("pgs_tui.runs.launcher.resume", resume)
    async with listed(runs) as (screen, pilot):
        await pilot.press("R")
        await until(pilot, lambda: "Go on with it" in shown(pilot))
        asked = " ".join(shown(pilot).replace("│", " ").split())
        assert "begins again at step 1" in asked and "Python code that comes with some/model runs" in asked
        await pilot.press("enter")
        await pilot.pause()
        assert started == [], "Enter alone runs nobody's code"
        await pilot.press("R")
        await until(pilot, lambda: "Go on with it" in shown(pilot))
        await pilot.press("up", "enter")
        await until(pilot, lambda: screen.app.return_value)
        goal = screen.app.return_value.next
        assert started == [run] and isinstance(goal, AttachTo) and goal.source.run.path == run and goal.back


async def test_a_run_that_brings_no_code_goes_on_with_enter(
    runs: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "chats.jsonl").write_text('{"messages": []}\n')
    config = CONFIG.format(model="some/model", trusts="false", data=here / "chats.jsonl")
    (next(runs.glob("*-r0")) / "config.yaml").write_text(config)
    monkeypatch.setattr("pgs_tui.runs.launcher.resume", lambda folder: Launched(folder, subprocess.Popen(("true",))))
    async with listed(runs) as (screen, pilot):
        await pilot.press("R")
        await until(pilot, lambda: "› Go on with it" in shown(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: screen.app.return_value)


async def test_why_a_run_cannot_go_on_is_said(runs: Path) -> None:
    (next(runs.glob("*-r1")) / "config.yaml").write_text("model: [\n")
    make_run(runs, "done", ended=end(), began=9500.0)
    async with listed(runs) as (screen, pilot):
        await pilot.press("R")
        assert "it has finished" in texts(screen)["keys"]
        await pilot.press("down", "R")
        assert "it has no config.yaml" in texts(screen)["keys"]
        await pilot.press("down", "R")
        await until(pilot, lambda: "cannot be used any more" in texts(screen)["keys"])


async def test_readonly_writes_nothing(runs: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    async with listed(runs, goal=ListRuns(str(runs), readonly=True)) as (screen, pilot):
        for key in ("t", "n", "D", "R"):
            await pilot.press(key)
            assert "--readonly" in texts(screen)["keys"]
            screen.key_bar.quiet()
        await pilot.press("enter")
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next.readonly
    assert before == {path: path.stat().st_mtime_ns for path in runs.rglob("*")}


async def test_new_runs_and_steps_appear_by_themselves(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("screens.runs.screen.LOOK_SECONDS", 0.05)
    async with listed(runs) as (screen, pilot):
        make_run(runs, "new", began=9900.0)
        await until(pilot, lambda: names(screen).startswith("new r0"))
        assert screen.list.row.name == "new", "nothing was selected by hand, so it is the first one"
        await pilot.press("down")
        make_run(runs, "newer", began=9950.0)
        await until(pilot, lambda: names(screen).startswith("newer new"))
        assert screen.list.row.name == "r0"


async def test_looking_again_reads_sizes_anew(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        before = screen.list.row.size
        fill(screen.list.row.path / "other", 3_000_000)
        await pilot.press("r")
        await until(pilot, lambda: not screen.listing.looking and screen.list.row.size >= before + 3_000_000)


async def test_copying_gives_the_list(runs: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with listed(runs) as (screen, pilot):
        await pilot.press("c")
        assert "r7" in pilot.app.clipboard
        await pilot.press("question_mark")
        await until(pilot, lambda: "lay the curves" in shown(pilot))
        await pilot.press("escape", "q")
        await until(pilot, lambda: screen.app.return_value)
        assert screen.app.return_value.next is None
