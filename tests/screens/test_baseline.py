"""A run that is over, below the curves of the one on the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from engine.rundir import RunDir, register_run
from pgs_tui.appearance.look import GlyphName, Look
from pgs_tui.comparing import baseline_file
from pgs_tui.comparing.baseline import read_baseline
from pgs_tui.goals import AttachTo
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from tests.comparing.made_runs import falling, told, write
from tests.screens.hosting import Host, hosted, screen_text
from tests.screens.inspecting import until


@pytest.fixture
def before(tmp_path: Path) -> RunDir:
    """A run of the same config that is over, known to the registry."""
    run = write(tmp_path / "20261129-100000-quickstart", told(falling(60, lift=0.5), lr=5e-5))
    register_run(run, "quickstart", 1.0)
    return run


async def show(host: Host, pilot: Pilot[Any], steps: int = 80) -> None:
    await host.deliver(pilot, Update(events=tuple(told(falling(steps))), life="live"))


async def choose(pilot: Pilot[Any], host: Host, *keys: str) -> None:
    await pilot.press("b")
    await until(pilot, lambda: len(host.screen_stack) > 1)
    await pilot.press(*keys, "enter")


def baseline_signs(host: Host) -> int:
    return sum(
        text.count("b") for row in host.dashboard.panes["loss"].lines[1:-1] for text, role in row if role == "series-8"
    )


async def test_it_is_chosen_drawn_dim_below_and_told_at_the_cursor(tmp_path: Path, before: RunDir) -> None:
    async with hosted(tmp_path / "live") as (host, pilot):
        await show(host, pilot)
        await choose(pilot, host)
        await until(pilot, lambda: host.dashboard.baseline is not None)
        assert baseline_signs(host) >= 2
        await pilot.press("s", "s", "home", "L", "L")
        await pilot.pause()
        assert "less b -0.500" in host.texts["cursor"]
        assert "less b -0.500" in host.texts["loss"]
        await pilot.press("escape", "l")
        await pilot.pause()
        assert "less b" not in host.texts["cursor"] and "b ended before" in host.texts["loss"]


async def test_it_is_there_again_with_the_next_run_of_the_config(tmp_path: Path, before: RunDir) -> None:
    assert baseline_file.save("quickstart", before.path) == ""
    write(tmp_path / "next", told(falling(20)))
    host = Host(AttachTo(LocalRun(RunDir(tmp_path / "next"), "quickstart")), Look(), 1000.0)
    host.open = lambda: host.dashboard.follow(host.live, host.live.source.follower())  # type: ignore[method-assign]
    async with host.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: host.dashboard.baseline is not None)
        assert host.dashboard.baseline is not None and host.dashboard.baseline.path == before.path


async def test_none_takes_it_away_and_is_remembered_too(tmp_path: Path, before: RunDir) -> None:
    async with hosted(tmp_path / "live") as (host, pilot):
        await show(host, pilot)
        await choose(pilot, host)
        await until(pilot, lambda: host.dashboard.baseline is not None)
        await until(pilot, lambda: baseline_file.load("quickstart") == before.path)
        await choose(pilot, host, "end")
        await until(pilot, lambda: baseline_file.load("quickstart") is None)
        assert host.dashboard.baseline is None and baseline_signs(host) == 0


async def test_who_may_only_read_leaves_nothing_behind(tmp_path: Path, before: RunDir) -> None:
    goal = AttachTo(LocalRun(RunDir(tmp_path / "live"), "quickstart"), readonly=True)
    async with hosted(tmp_path / "live", goal=goal) as (host, pilot):
        await show(host, pilot)
        await choose(pilot, host)
        await until(pilot, lambda: host.dashboard.baseline is not None)
        await pilot.pause()
        assert baseline_file.load("quickstart") is None


async def test_without_another_run_it_says_so(tmp_path: Path) -> None:
    async with hosted(tmp_path / "live") as (host, pilot):
        await show(host, pilot)
        await pilot.press("b")
        await until(pilot, lambda: "nothing to compare with" in host.texts["keys"])


@pytest.mark.parametrize(("size", "glyphs"), [((60, 15), "ascii"), ((80, 24), "blocks"), ((200, 50), "braille")])
async def test_it_is_told_without_a_colour(
    tmp_path: Path, before: RunDir, size: tuple[int, int], glyphs: GlyphName
) -> None:
    async with hosted(tmp_path / "live", size, look=Look(glyphs=glyphs)) as (host, pilot):
        await show(host, pilot)
        host.dashboard.baseline = read_baseline(before.path)
        await pilot.press("home", "L")
        await pilot.pause()
        assert any("b" in row for row in (host.texts["loss"]).splitlines()[1:-1])
        assert "less b" in "\n".join(screen_text(host))
