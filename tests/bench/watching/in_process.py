"""The dashboard without a terminal: what taking in a step and showing it costs, by itself."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from textual._compositor import CompositorUpdate
from textual.events import Key
from textual.screen import Screen

from engine.events import ModelInfo, Phase, Stamped, Start
from engine.rundir import RunDir
from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import PgsApp
from pgs_tui.goals import AttachTo
from pgs_tui.history.history import History
from pgs_tui.runs.follow import Update
from pgs_tui.runs.source import LocalRun
from pgs_tui.terminal.frugal import frugal
from screens.dashboard.live import LiveRun
from tests.bench.watching.runs import SECONDS_A_STEP, steps_from

BEGIN = 1e9
UPDATES = 80
PANS = 30
DRAWN_SECONDS = 0.3
"""By then everything is drawn that a key has changed."""


@dataclass(slots=True)
class Costs:
    """Seconds of CPU of each update: taking in the step, drawing the panels, and painting what differs."""

    taken: list[float] = field(default_factory=list)
    drawn: list[float] = field(default_factory=list)
    painted: list[float] = field(default_factory=list)

    @property
    def shown(self) -> list[float]:
        """Drawing and painting together."""
        return [one + other for one, other in zip(self.drawn, self.painted, strict=True)]


class Unattended(PgsApp):
    """The application with the run that it is given, which makes the codes for a terminal and sends them nowhere."""

    def __init__(self) -> None:
        super().__init__(AttachTo(LocalRun(RunDir(Path("nowhere")), "bench")), Look())
        self.sent = 0

    def open(self) -> None:
        """There is nothing to follow."""

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        update = frugal(renderable)
        if isinstance(update, CompositorUpdate):
            self.sent += len(update.render_segments(self.console))


async def updates(size: tuple[int, int], steps: int, total: int) -> Costs:
    """Show so many steps of a run of `total` in a terminal of this size, then one step after the other."""
    app, costs = Unattended(), Costs()
    async with app.run_test(size=size) as pilot:
        dashboard, now = app.dashboard, BEGIN
        live = dashboard.live = LiveRun(LocalRun(RunDir(Path("nowhere")), "bench"), lambda: now)
        source = stamped(1)
        past = tuple(next(source) for _ in range(steps))
        live.take(Update(events=(*beginning(total), *past), life="live"))
        dashboard.show_now()
        await pilot.pause()
        for _ in range(UPDATES):
            event = next(source)
            now = event.t + 0.3
            marks = [time.process_time()]
            live.take(Update(events=(event,), life="live"))
            marks.append(time.process_time())
            dashboard.show_now()
            marks.append(time.process_time())
            app.screen._dirty_widgets.update(dashboard.drawn)  # as messages would tell it in a moment
            app.screen._on_timer_update()
            marks.append(time.process_time())
            for one, begin, end in zip((costs.taken, costs.drawn, costs.painted), marks, marks[1:], strict=False):
                one.append(end - begin)
            await pilot.pause()
    return costs


@dataclass(slots=True)
class Pans:
    """Of each pan: seconds of CPU from the key until all is drawn, and of the longest turn, which a key waits for.

    `sent` are bytes for each.
    """

    costs: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    sent: float = 0.0


async def pans(size: tuple[int, int], steps: int, total: int) -> Pans:
    """Zoom into a run of so many steps and pan there and back."""
    app, found = Unattended(), Pans()
    async with app.run_test(size=size) as pilot:
        dashboard = app.dashboard
        nowhere = LocalRun(RunDir(Path("nowhere")), "bench")
        live = dashboard.live = LiveRun(nowhere, lambda: BEGIN + steps * SECONDS_A_STEP)
        source = stamped(1)
        live.take(Update(events=(*beginning(total), *(next(source) for _ in range(steps))), life="live"))
        gc.freeze()  # as the dashboard does after a long past
        dashboard.show_now()
        await pilot.pause(DRAWN_SECONDS)
        for key in ("plus", "plus", "plus", "less_than_sign"):
            await press(app, key)
        app.sent = 0
        for key in ("greater_than_sign", "less_than_sign") * (PANS // 2):
            found.costs.append(await press(app, key))
        found.sent = app.sent / PANS
        for key in ("greater_than_sign", "less_than_sign") * (PANS // 4):
            found.turns.append(await longest_turn(app, key))
    return found


async def press(app: Unattended, key: str) -> float:
    """Seconds of CPU that a key takes, whatever is drawn for it."""
    begin = time.process_time()
    app.post_message(Key(key, None))
    await asyncio.sleep(DRAWN_SECONDS)
    return time.process_time() - begin


async def longest_turn(app: Unattended, key: str) -> float:
    """Seconds of CPU of the longest turn of the loop while what a key changes is drawn."""
    app.post_message(Key(key, None))
    turns, end = [], time.monotonic() + DRAWN_SECONDS
    while time.monotonic() < end:
        begin = time.process_time()
        await asyncio.sleep(0)
        turns.append(time.process_time() - begin)
    return max(turns)


def appends(steps: int) -> list[float]:
    """Seconds of CPU to take in each of the 500 steps that follow so many."""
    history, source = History(), stamped(1)
    history.fold(beginning(steps * 2))
    for _ in range(steps // 1000):
        history.fold([next(source) for _ in range(1000)])
    costs = []
    for _ in range(500):
        event = next(source)
        begin = time.process_time()
        history.fold((event,))
        costs.append(time.process_time() - begin)
    return costs


def beginning(total: int) -> tuple[Stamped, ...]:
    """What comes before the first step."""
    start = Start(
        run="bench",
        command="",
        config="",
        model=ModelInfo(name="made up", params=1, trainable=1),
        device="cuda",
        gpus=("A100",),
        total_steps=total,
    )
    return Stamped(BEGIN, start), Stamped(BEGIN, Phase(name="training"))


def stamped(first: int) -> Iterator[Stamped]:
    """Steps with their times."""
    for step in steps_from(first):
        yield Stamped(BEGIN + step.step * SECONDS_A_STEP, step)
