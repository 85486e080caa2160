"""The list of runs: what it shows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.rundir import RunDir, register_run
from pgs_tui.appearance.look import Look, ThemeName
from pgs_tui.goals import ListRuns
from pgs_tui.listing.labels import Labels, write_labels
from pgs_tui.widgets.run_list import columns_of
from tests.listing.making import alert, end, evaluation, fill, make_run
from tests.screens.hosting import screen_text
from tests.screens.listing import listed, texts, until


@pytest.fixture
def runs(here: Path) -> Path:
    """Six runs: one is going, the others have ended in different ways."""
    folder = here / "runs"
    make_run(folder, "qwen/small", evaluation(3, 2.1), alert("a"), alert("b", "critical"), ended=end(), began=6000.0)
    make_run(folder, "smollm2", live=True, began=5000.0, losses=(3.0, 2.0))
    killed = make_run(folder, "killed", losses=(4.0, float("nan")), began=4000.0)
    make_run(folder, "stopped", ended=end("stopped", "asked to stop at step 3"), began=3000.0)
    make_run(folder, "failed", ended=end("failed", "The loss is not finite since step 2."), began=2000.0)
    empty = folder / "20260101-120000-empty"
    empty.mkdir()
    os.utime(empty, (1000, 1000))
    write_labels(killed, Labels(("baseline", "lr-sweep"), "the one with the long warm-up"))
    fill(killed / "checkpoints" / "step-2" / "model.safetensors", 1_000_000)
    return folder


def line_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if name in line)


async def test_each_run_is_a_line_with_what_it_came_to(runs: Path) -> None:
    async with listed(runs) as (screen, _):
        told = texts(screen)["runs"]
        for word in ("✔ finished", "Qwen3-4B", "3/10", "2.500", "2.100e", "✖1 ▲1", "8 s"):
            assert word in line_of(told, "qwen/small")
        assert "● going" in line_of(told, "smollm2") and "2.000 " in line_of(told, "smollm2")
        assert "✖ killed" in line_of(told, " killed ") and "NaN" in line_of(told, " killed ")
        assert "1.0 MB" in line_of(told, " killed ") or "1.1 MB" in line_of(told, " killed ")
        assert "■ stopped" in line_of(told, "■") and "✖ failed" in line_of(told, "failed")
        assert "1 going · 6 runs" in texts(screen)["status"] and "on disk" in texts(screen)["status"]
        assert "Enter attach" in texts(screen)["keys"]


async def test_the_details_tell_all_of_the_selected_one(runs: Path) -> None:
    async with listed(runs) as (screen, pilot):
        while "killed" not in (screen.list.row.name if screen.list.row else ""):
            await pilot.press("down")
        told = texts(screen)["details"]
        for word in (
            "was killed: its engine is gone",
            "loss NaN at step 2 · lowest of a step 4.000 at step 1",
            "#baseline #lr-sweep",
            "the one with the long warm-up",
            "Qwen/Qwen3-4B",
            "20260101-120000-killed",
        ):
            assert word in told


@pytest.mark.parametrize(("width", "height"), [(60, 15), (80, 24), (120, 36), (200, 50)])
async def test_what_the_list_has_no_room_for_stands_in_the_details(runs: Path, width: int, height: int) -> None:
    async with listed(runs, size=(width, height)) as (screen, pilot):
        while "small" not in (screen.list.row.name if screen.list.row else ""):
            await pilot.press("down")
        text = "\n".join((line_of(texts(screen)["runs"], "›"), texts(screen)["details"]))
        for word in ("finished", "3/10", "2.500", "2.100", "Qwen3-4B", "8 s"):
            assert word in text, f"{word} is nowhere at {width}x{height}"
        assert "✖1 ▲1" in text and (" kB" in text or " B " in text)
        assert all(len(row) <= width for row in screen_text(screen.app))


async def test_at_most_terminals_it_is_usable_and_at_none_it_breaks(runs: Path) -> None:
    for size in ((1, 1), (12, 3), (30, 8), (46, 11)):
        async with listed(runs, size=size) as (screen, pilot):
            await pilot.press("down", "m", "s", "tab", "down", "escape")
            assert len(screen_text(screen.app)) == size[1]


async def test_folders_that_cannot_be_read_are_named(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, scandir = runs / "closed", os.scandir
    closed.mkdir()

    def refusing(path: str | Path) -> object:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("pgs_tui.listing.finding.os.scandir", refusing)
    async with listed(runs) as (screen, pilot):
        assert "✖ may not be read: Permission denied" in line_of(texts(screen)["runs"], "closed")
        await pilot.press("end", "enter")
        assert "may not be read" in texts(screen)["keys"] and screen.app.return_value is None


async def test_an_empty_folder_says_what_to_do(here: Path) -> None:
    register_run(RunDir(make_run(here / "elsewhere")), "small", 1.0)
    (here / "runs").mkdir()
    async with listed(here / "runs") as (screen, pilot):
        await until(pilot, lambda: "elsewhere" in texts(screen)["runs"])
        told = texts(screen)["runs"]
        assert "there is no run below ~/here/runs" in told and "pgs-tui CONFIG   trains one" in told
        assert "pgs-tui runs ~/here/elsewhere   has runs" in told


async def test_it_shows_itself_before_anything_is_found(runs: Path) -> None:
    async with listed(runs, settled=False) as (screen, _):
        assert "looking" in texts(screen)["status"] or "going" in texts(screen)["status"]
        assert "Enter attach" in texts(screen)["keys"]


async def test_without_a_folder_it_lists_what_is_registered(here: Path) -> None:
    register_run(RunDir(make_run(here / "a", "one")), "one", 1.0)
    async with listed(None) as (screen, _):
        assert "one" in texts(screen)["runs"] and "runs known here" in texts(screen)["status"]


async def test_why_another_run_could_not_be_opened_is_said(runs: Path) -> None:
    async with listed(runs, goal=ListRuns(str(runs), note="box: Connection refused")) as (screen, _):
        assert "box: Connection refused" in texts(screen)["keys"]


async def test_names_of_any_kind_are_shown_harmless(here: Path) -> None:
    make_run(here / "runs", "a\x1b[31m\nb[/red]", model="m\x1b]0;title\x07", ended=end("failed", "\x1b[2J why"))
    async with listed(here / "runs") as (screen, _):
        shown = "\n".join(screen_text(screen.app))
        assert "\x1b" not in shown and "[/red]" in shown and "why" in shown


@pytest.mark.parametrize("theme", ["dark", "light", "terminal"])
async def test_it_can_be_read_in_every_theme_and_without_colour(
    runs: Path, theme: ThemeName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with listed(runs, look=Look(theme=theme, glyphs="ascii", ascii_only=True)) as (screen, pilot):
        await pilot.press("m")
        told = texts(screen)["runs"]
        assert (told.isascii() and "killed" in told and "> *" in told.replace("  ", " ")) or "*" in told


def test_columns_have_the_room_that_short_names_leave() -> None:
    heads = [[column.head for column in columns_of(73, longest_name=name, longest_steps=9)] for name in (10, 30)]
    assert "size" in heads[0] and "size" not in heads[1]
