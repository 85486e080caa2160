"""The key that writes exports."""

from pathlib import Path

from tests.screens.hosting import hosted, screen_text
from tests.screens.inspecting import until
from tests.screens.night import end_of_night, night


async def test_the_chart_in_focus_becomes_a_picture(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=end_of_night()) as (app, pilot):
        await app.deliver(pilot, night())
        app.dashboard.set_focus(app.dashboard.panes["dt"])
        await pilot.press("e", "enter")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "dt (seconds a step)" in (tmp_path / "exports" / "dt-at-600.svg").read_text()
        assert "written: " in app.texts["keys"]


async def test_the_table_has_the_steps_that_are_seen(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=end_of_night()) as (app, pilot):
        await app.deliver(pilot, night())
        await pilot.press("plus", "plus", "e", "down", "down", "enter")
        await app.workers.wait_for_complete()
        rows = (tmp_path / "exports" / "steps-at-600.csv").read_text().splitlines()
        assert 10 < len(rows) < 300 and rows[-1].startswith("600,")


async def test_twice_makes_two_files_and_escape_none(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=end_of_night()) as (app, pilot):
        await app.deliver(pilot, night())
        await pilot.press("e", "escape")
        for _ in range(2):
            await pilot.press("e", "end", "enter")
            await app.workers.wait_for_complete()
        names = sorted(path.name for path in (tmp_path / "exports").iterdir())
        assert names == ["report-at-600-2.md", "report-at-600.md"]


async def test_a_path_that_is_longer_than_the_line_stands_in_a_window(tmp_path: Path) -> None:
    run = tmp_path / ("a" * 70)
    run.mkdir()
    async with hosted(run, (60, 15), now=end_of_night()) as (app, pilot):
        await app.deliver(pilot, night())
        await pilot.press("e", "enter")
        await app.workers.wait_for_complete()
        await until(pilot, lambda: "loss-at-600.svg" in "".join(row.strip(" │") for row in screen_text(app)))
        await pilot.press("enter")
        await until(pilot, lambda: app.dashboard.is_current)


async def test_without_a_run_nothing_opens(tmp_path: Path) -> None:
    async with hosted(tmp_path, size=(60, 15)) as (app, pilot):
        app.dashboard.live = None
        await pilot.press("e")
        assert app.screen is app.dashboard
