"""A replay on the dashboard: its keys, what the first line says, and that nobody is woken nor asked anything."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.rundir import RunDir
from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import Goodbye, PgsApp
from pgs_tui.goals import AttachTo
from pgs_tui.replaying.playback import Playback
from pgs_tui.replaying.replayed_run import ReplayedRun
from pgs_tui.runs.source import LocalRun
from pgs_tui.waking import Waking
from tests.replaying.playing import Hand, night_on_disk
from tests.screens.hosting import screen_text

PATIENCE = 20.0


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    return night_on_disk(tmp_path_factory.mktemp("replay") / "20260101-000000-night")


@asynccontextmanager
async def played(
    run: RunDir, at: int, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[PgsApp, Pilot[Goodbye], Hand]]:
    """A replay from after that step, whose clock is the test's."""
    hand = Hand()
    source = ReplayedRun(LocalRun(run), at=at)
    source.playback = Playback(1.0, hand)
    app = PgsApp(AttachTo(source), Look(), waking=Waking(rings=True, command="touch woken"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: bool(app.dashboard.live and app.dashboard.live.history.last_step == at))
        yield app, pilot, hand


async def until(pilot: Pilot[Goodbye], happened: Callable[[], bool]) -> None:
    """Let the application work until that has happened."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it has not happened"
        await pilot.pause()


def first_line(app: PgsApp) -> str:
    app.dashboard.show_now()
    return "".join(text for text, _ in app.dashboard.status_line.lines[0])


def shown_step(app: PgsApp) -> int | None:
    assert app.dashboard.live is not None
    return app.dashboard.live.history.last_step


async def test_keys_play_hold_and_go_to_a_step(run: RunDir) -> None:
    async with played(run, at=100) as (app, pilot, hand):
        assert "▶ REPLAY 1x · training" in first_line(app)
        hand.now += 13.0
        await until(pilot, lambda: (shown_step(app) or 0) >= 110)
        await pilot.press("space", "right_curly_bracket", "right_curly_bracket")
        assert "‖ REPLAY 5x" in first_line(app)
        held = shown_step(app)
        assert held is not None
        await pilot.press("full_stop")
        await until(pilot, lambda: shown_step(app) == held + 1)
        await pilot.press("comma", "comma")
        await until(pilot, lambda: shown_step(app) == held - 1)
        await pilot.press("colon", *"150", "enter")
        await until(pilot, lambda: shown_step(app) == 150)
        await until(pilot, lambda: "150/1 000" in screen_text(app)[0])


async def test_going_back_takes_back_alerts_and_the_engines_log(run: RunDir, tmp_path: Path) -> None:
    async with played(run, at=210) as (app, pilot, _):
        assert app.dashboard.live is not None
        assert any(one.code == "SPIKE_SKIPPED" for one in app.dashboard.live.incidents())
        await pilot.press("space", "colon", *"150", "enter")
        await until(pilot, lambda: shown_step(app) == 150)
        app.dashboard.show_now()
        assert not any(one.code == "SPIKE_SKIPPED" for one in app.dashboard.live.incidents())
        assert "step=150 " in app.dashboard.log_panel.last(1)[0]


async def test_nothing_is_asked_of_it_and_nobody_is_woken(
    run: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with played(run, at=325) as (app, pilot, hand):
        hand.now += 30.0  # over the loss that is no number
        await until(pilot, lambda: (shown_step(app) or 0) > 335)
        await pilot.press("x")
        await until(pilot, lambda: "replay" in screen_text(app)[-1])
        assert not run.control.exists()
    assert not (tmp_path / "woken").exists()


async def test_the_end_is_said_and_a_number_that_is_none_too(run: RunDir) -> None:
    async with played(run, at=590) as (app, pilot, hand):
        hand.now += 1000.0
        await until(pilot, lambda: "the end is reached" in screen_text(app)[-1])
        assert "at its end: stopped" in first_line(app)
        await pilot.press("colon", *"abc", "enter")
        await until(pilot, lambda: "abc is no number of a step" in screen_text(app)[-1])


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 50)])
async def test_the_first_line_says_that_it_is_a_replay_in_any_terminal(run: RunDir, size: tuple[int, int]) -> None:
    async with played(run, at=300, size=size) as (app, _, _hand):
        app.dashboard.show_now()
        assert "REPLAY" in first_line(app)
        assert "300" in first_line(app)
