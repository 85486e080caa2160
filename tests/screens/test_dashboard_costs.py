"""What the dashboard does for a step and for a key, counted: columns looked at, cells repainted, charts drawn."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.events import Phase, Step
from pgs_tui.apps.dashboard import Goodbye
from pgs_tui.drawing.chart import LiveChart
from pgs_tui.runs.follow import Update
from pgs_tui.widgets.chart_panel import ChartPanel
from screens.dashboard.showing import REFRESH_SECONDS
from tests.pgs_tui.making import stamped, step
from tests.screens.hosting import Host, hosted
from tests.screens.inspecting import until
from tests.screens.scenes import START

PAST = 3000
SIZES = [(80, 24), (200, 50)]


def at(number: int) -> Step:
    """A steady run, so that no limits change."""
    wave = math.sin(number / 7) / 10
    return step(number, 2.0 + wave, grad_norm=0.3 + wave / 10, tok_s=6000 + 100 * wave, dt=1.2 + wave / 10)


async def with_a_past(app: Host, pilot: Pilot[Goodbye]) -> list[ChartPanel]:
    """The charts that are in sight after many steps."""
    events = stamped(START, Phase(name="training"), *(at(number) for number in range(1, PAST + 1)), start=1000.0 - PAST)
    await app.deliver(pilot, Update(events=events, life="live"))
    return [chart for chart in app.dashboard.charts if chart.display]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many columns each drawing of a chart has looked at."""
    counts: list[int] = []
    draw = LiveChart.draw

    def counted(self: LiveChart, *how: object) -> object:
        lines = draw(self, *how)  # type: ignore[arg-type]
        counts.append(self.columns_drawn)
        return lines

    monkeypatch.setattr(LiveChart, "draw", counted)
    return counts


@pytest.mark.parametrize("size", SIZES)
async def test_a_step_looks_at_the_last_columns_of_each_curve(
    size: tuple[int, int], tmp_path: Path, looked: list[int]
) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        charts = await with_a_past(app, pilot)
        looked.clear()
        for number in range(PAST + 1, PAST + 21):
            app.live.take(Update(events=stamped(at(number)), life="live"))
            app.dashboard.show_now()
        newest = size[0] * (6000 - PAST) // 6000  # columns that the run has yet to fill
        assert len(looked) <= 20 * len(charts), "each chart once a step"
        assert max(looked) <= newest + 2
        assert len(charts) >= 3


@pytest.mark.parametrize(("size", "cells"), [((80, 24), 100), ((200, 50), 250)])
async def test_a_step_repaints_few_cells(size: tuple[int, int], cells: int, tmp_path: Path) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        await with_a_past(app, pilot)
        repainted = []
        for number in range(PAST + 1, PAST + 11):
            app.live.take(Update(events=stamped(at(number)), life="live"))
            for drawn in app.dashboard.drawn:
                drawn._exchange_repaint_regions()
            app.dashboard.show_now()
            regions = [
                one for drawn in app.dashboard.drawn if drawn.display for one in drawn._exchange_repaint_regions()
            ]
            repainted.append(sum(one.area for one in regions))
        assert 0 < statistics.median(repainted) < cells, repainted
        assert max(repainted) < size[0] * size[1] / 4


async def test_moving_the_focus_draws_no_curve_and_never_the_whole_screen(
    tmp_path: Path, looked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosted(tmp_path, (120, 36)) as (app, pilot):
        await with_a_past(app, pilot)
        await pilot.press("tab")
        await pilot.pause(REFRESH_SECONDS * 1.5)  # what was asked for before has been drawn
        looked.clear()
        whole: list[object] = []
        compositor = app.screen._compositor
        full = compositor.render_full_update
        monkeypatch.setattr(compositor, "render_full_update", lambda simplify=False: whole.append(1) or full(simplify))
        await pilot.press("tab", "tab", "shift+tab")
        assert looked == []
        assert whole == []


async def test_panels_out_of_sight_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosted(tmp_path, (120, 36)) as (app, pilot):
        charts = await with_a_past(app, pilot)
        hidden = charts[1]
        hidden.add_class("hidden")
        await pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(hidden, "draw", lambda width, height: drawn.append(width) or [])
        await app.deliver(pilot, Update(events=stamped(at(PAST + 1)), life="live"))
        assert drawn == []
        hidden.remove_class("hidden")
        monkeypatch.undo()
        await pilot.pause()
        assert any("⠉" <= character <= "⣿" for row in hidden.lines for text, _ in row for character in text)


async def test_a_terminal_that_does_not_keep_up_is_shown_less(
    tmp_path: Path, looked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.dashboard.showing.REFRESH_SECONDS", 0.02)
    monkeypatch.setattr("screens.dashboard.showing.SLOW_SECONDS", 0.05)
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await with_a_past(app, pilot)
        await pilot.pause(0.1)
        monkeypatch.setattr(Host, "terminal_is_behind", True)
        looked.clear()
        app.dashboard.post_message(app.dashboard.Arrived(Update(events=stamped(at(PAST + 1)), life="live")))
        await pilot.pause(0.3)
        assert looked == [], "nothing more is sent to a terminal that has yet to take what was"
        monkeypatch.setattr(Host, "terminal_is_behind", False)
        await until(pilot, lambda: looked)  # once it has, all is brought up to date
