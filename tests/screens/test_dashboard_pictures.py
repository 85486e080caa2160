"""The dashboard in pictures: a night of training at every class of sizes, in every theme."""

from pathlib import Path

import pytest

from pgs_tui.appearance.look import THEME_NAMES, Look, ThemeName
from tests.screens.hosting import hosted, screen_text
from tests.screens.night import SPIKES, end_of_night, night
from tests.screens.snapshots import check_snapshot

SIZES = [(60, 15), (80, 24), (120, 36), (200, 50)]


@pytest.mark.parametrize("theme", THEME_NAMES)
@pytest.mark.parametrize("size", SIZES)
async def test_a_night_of_training(tmp_path: Path, size: tuple[int, int], theme: ThemeName) -> None:
    look = Look(theme=theme)
    async with hosted(tmp_path, size, look=look, now=end_of_night() + 0.5) as (app, pilot):
        await app.deliver(pilot, night())
        check_snapshot(app, f"dashboard-{size[0]}x{size[1]}-{theme}")


async def test_a_step_under_the_cursor(tmp_path: Path) -> None:
    async with hosted(tmp_path, (120, 36), now=end_of_night() + 0.5) as (app, pilot):
        await app.deliver(pilot, night())
        app.dashboard.put_cursor(SPIKES[0])
        await pilot.pause()
        check_snapshot(app, "dashboard-cursor-120x36-dark")


async def test_in_ascii(tmp_path: Path) -> None:
    look = Look(theme="terminal", glyphs="ascii", ascii_only=True)
    async with hosted(tmp_path, (200, 50), look=look, now=end_of_night() + 0.5) as (app, pilot):
        await app.deliver(pilot, night())
        assert all(row.isascii() for row in screen_text(app))
        check_snapshot(app, "dashboard-200x50-ascii")
