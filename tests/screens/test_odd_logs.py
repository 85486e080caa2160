"""Whatever is written into a log, torn or replaced, and whatever is pressed meanwhile: the dashboard goes on."""

from __future__ import annotations

import asyncio
import json
import tempfile
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from engine.events import Stamped, encode
from engine.events.columns import STEP_VALUES, StepColumns
from pgs_tui.apps.dashboard import PgsApp
from pgs_tui.keys import bindings_of
from pgs_tui.runs.follow import Follower, Update
from screens.dashboard.screen import DashboardScreen
from tests.pgs_tui.making import stamped, step
from tests.pgs_tui.random_runs import logs
from tests.screens.hosting import Host, hosted, screen_text
from tests.screens.inspecting import until

ELSEWHERE = ("leave", "detach", "ask_leave", "inspect", "profile", "enter")
"""Actions that leave the dashboard."""
KEYS = [key for key, action, _ in bindings_of("dashboard") if action.partition("(")[0] not in ELSEWHERE]
SIZES = [(1, 1), (2, 60), (20, 5), (60, 15), (80, 24), (200, 2), (200, 50), (400, 120)]
Act = Callable[[Path], None]


def append(data: bytes) -> Act:
    def act(log: Path) -> None:
        with log.open("ab") as file:
            file.write(data)

    return act


def emptied(log: Path) -> None:
    log.write_bytes(b"")


def replaced(log: Path) -> None:
    other = log.with_suffix(".new")
    other.write_bytes(written(stamped(step(3), step(4))))
    other.replace(log)


def gone(log: Path) -> None:
    log.unlink(missing_ok=True)


def halved(log: Path) -> None:
    if log.exists():
        log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def record_of(one: Stamped) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(encode(one.event, 0.0))
    return {**record, "t": one.t}


def written(events: tuple[Stamped, ...]) -> bytes:
    """Lines as an engine writes them, but that a time may be no number, which then is no JSON."""
    return b"".join(f"{json.dumps(record_of(one))}\n".encode() for one in events)


def without_some(events: tuple[Stamped, ...], every: int) -> bytes:
    """Lines whose fields are missing, or of another kind."""
    lines = []
    for place, one in enumerate(events):
        record = record_of(one)
        for name in list(record)[place % every :: every]:
            record[name] = None if place % 2 else record.pop(name) and "?"
        lines.append(json.dumps(record).encode())
    return b"\n".join(lines) + b"\n"


ACTS = st.one_of(
    logs().map(lambda events: append(written(events))),
    logs().map(lambda events: append(written(events))),
    logs().map(lambda events: append(written(events)[:-30])),
    st.tuples(logs(), st.integers(2, 9)).map(lambda drawn: append(without_some(*drawn))),
    st.binary(max_size=200).map(append),
    st.sampled_from(
        (
            append(b'{"v":1,"t":1,"event":"unheard of","x":[1,2]}\n[]\nnull\n{"v":1,"t":NaN,"event":"step"}\n'),
            append(b'{"v":1,"t":1e999,"event":"step","step":1e400}\n' + b'{"a":' * 500 + b"\n"),
            emptied,
            replaced,
            gone,
            halved,
        )
    ),
)
TURNS = st.tuples(ACTS, st.sampled_from(SIZES), st.lists(st.sampled_from(KEYS), max_size=2))


@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(TURNS, min_size=1, max_size=3))
def test_any_log_in_any_size_under_any_keys(turns: list[tuple[Act, tuple[int, int], list[str]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live_through(Path(folder), turns))


async def live_through(folder: Path, turns: list[tuple[Act, tuple[int, int], list[str]]]) -> None:
    """The screen takes part in every turn, and at the end it shows the run as a fresh reader sees it."""
    async with hosted(folder, turns[0][1]) as (app, pilot):
        follower = Follower.of(app.live.run)
        for act, size, keys in turns:
            await pilot.resize_terminal(*size)
            act(app.live.run.events)
            for update in follower.poll():
                await app.deliver(pilot, update)
            for key in keys:
                await press(app, pilot, key)
            await until(pilot, partial(fills, app, size[0]))
        assert app.screen is app.dashboard
        assert follower.pause > 0


def fills(app: PgsApp, width: int) -> bool:
    """Whether every line of the screen is so wide."""
    return {len(row) for row in screen_text(app)} <= {width}


async def press(app: PgsApp, pilot: Pilot[Any], key: str) -> None:
    await pilot.press(key)
    if not isinstance(app.screen, DashboardScreen):
        await pilot.press("down", "escape")


def tiny_steps(count: int) -> StepColumns:
    """So many steps whose values hardly differ from nothing, and one that does."""
    values = {name: array("d", [5e-324 if name == "loss" else 1e-12]) * count for name in STEP_VALUES}
    values["skipped"] = array("d", [0.0]) * count
    values["loss"][count // 2] = 1.0
    t = array("d", [1000.0]) * count
    return StepColumns(array("q", range(1, count + 1)), t, array("q", range(0, 100 * count, 100)), values)


async def test_a_million_tiny_steps(tmp_path: Path) -> None:
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, Update(columns=(tiny_steps(1_000_000),), life="live"))
        assert app.live.history.last_step == 1_000_000
        for key in ("plus", "right", "t", "y", "0"):
            await press(app, pilot, key)
        await pilot.resize_terminal(400, 120)
        assert "step 1 000 000" in app.texts["status"]
        loss = app.live.history.columns("loss", 1, 1_000_001, 100)
        assert loss.high[49:51].count(1.0) == 1, "one in a million is seen"


async def test_what_was_written_while_the_terminal_was_tiny_is_there(tmp_path: Path) -> None:
    """Sizes no terminal should have, and the view whole again afterwards."""
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        run, follower = app.live.run, Follower.of(app.live.run)
        append(written(stamped(step(1), step(2))))(run.events)
        await took(app, pilot, follower)
        await pilot.press("tab", "left")
        chosen, focused = app.dashboard.view.cursor, app.dashboard.focused
        for number, size in enumerate([(20, 5), (1, 1), (200, 2), (2, 60)], 3):
            await pilot.resize_terminal(*size)
            append(written(stamped(step(number), start=1000.0 + number)))(run.events)
            await took(app, pilot, follower)
            await until(pilot, partial(fills, app, size[0]))
        await pilot.resize_terminal(80, 24)
        app.dashboard.show_now()
        await pilot.pause()
        assert app.live.history.last_step == 6 and "6" in app.texts["status"]
        assert (app.dashboard.view.cursor, app.dashboard.focused) == (chosen, focused)
        assert "loss" in app.texts["loss"] and "╭" in app.texts["loss"]


async def took(app: Host, pilot: Pilot[Any], follower: Follower) -> None:
    for update in follower.poll():
        await app.deliver(pilot, update)
