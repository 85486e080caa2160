"""The estimate of the GPU's memory beside what was measured."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from engine.events import Estimate, Event
from engine.events import Host as HostEvent
from pgs_tui.appearance.look import GlyphName, Look
from pgs_tui.history.history import History
from pgs_tui.runs.follow import Update
from pgs_tui.widgets.bars import MARK
from pgs_tui.widgets.memory_panel import MemoryView
from screens.dashboard.readings.memory import memory_of
from tests.pgs_tui.making import stamped, step
from tests.screens.hosting import hosted, screen_text
from tests.screens.scenes import GPU, MEM, START, training

ESTIMATE = Estimate(peak=19.7, reserved=20.5, components={"weights": 8.0}, decides="backward")
EXPECTED = Update(events=stamped(START, ESTIMATE, step(1, mem=MEM), step(2, mem=MEM), GPU), life="live")


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (60, 15)])
async def test_the_estimate_stands_beside_the_peak_in_words(tmp_path: Path, size: tuple[int, int]) -> None:
    async with hosted(tmp_path, size) as (app, pilot):
        await app.deliver(pilot, EXPECTED)
        shown = " ".join(screen_text(app))
        assert f"peak 16.1 · {MARK} est 19.7" in shown


@pytest.mark.parametrize(("glyphs", "mark"), [("braille", MARK), ("ascii", "*")])
async def test_the_bar_is_marked_where_the_peak_was_expected(tmp_path: Path, glyphs: GlyphName, mark: str) -> None:
    async with hosted(tmp_path, look=Look(glyphs=glyphs)) as (app, pilot):
        await app.deliver(pilot, EXPECTED)
        bar = next(row for row in app.texts["memory"].splitlines() if row.count("░" if mark == MARK else ".") > 10)
        inside = bar[2:-2]
        assert inside.index(mark) == pytest.approx(len(inside) * 19.7 / 39.4, abs=1), "half of the card"
        assert inside.count(mark) == 1


@pytest.mark.parametrize(
    ("peak", "place"), [(math.nan, None), (math.inf, None), (-math.inf, None), (0.0, 0), (1e9, -1), (39.4, -1)]
)
async def test_no_number_breaks_the_bar(tmp_path: Path, peak: float, place: int | None) -> None:
    async with hosted(tmp_path) as (app, pilot):
        odd = replace(ESTIMATE, peak=peak)
        await app.deliver(pilot, Update(events=stamped(START, odd, step(1, mem=MEM), GPU), life="live"))
        bar = next(row for row in app.texts["memory"].splitlines() if "░" in row)
        assert len(bar) == 120
        inside = bar.strip("│ ")
        assert (MARK in inside) == (place is not None)
        assert place is None or inside[place] == MARK


def memory_after(*events: Event) -> MemoryView:
    history = History()
    history.fold(stamped(*events))
    return memory_of(history)


def test_a_run_on_the_cpu_shows_none() -> None:
    host = HostEvent(cpu=100, rss=1.0, disk_free=10, memory_available=10, memory_total=24)
    assert memory_after(START, ESTIMATE, step(1), host).estimate is None


def test_a_run_that_goes_on_has_the_estimate_of_its_new_start() -> None:
    again = replace(ESTIMATE, peak=11.0)
    assert memory_after(START, ESTIMATE, GPU, START, again).estimate == 11.0
    assert memory_after(START, ESTIMATE, GPU, START).estimate is None, "the older one may be of another config"


async def test_without_an_estimate_nothing_is_marked(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        assert MARK not in app.texts["memory"] and "est" not in app.texts["memory"]
