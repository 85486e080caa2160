"""One cursor through all charts, zoom, pan, following, the x axes, and the walk from mark to mark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from engine.events import Alert, Audit, AuditFlag, Checkpoint, End, Eval, Event, Resume, Stamped
from engine.events.codec import encode
from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import Goodbye, PgsApp
from pgs_tui.runs.follow import Update
from pgs_tui.view import View
from screens.dashboard.screen import DashboardScreen
from tests.pgs_tui.making import stamped, step
from tests.screens.hosting import Host, hosted, screen_text
from tests.screens.inspecting import until
from tests.screens.scenes import START

SPIKE = Alert(
    id="s",
    state="open",
    code="LOSS_SPIKE",
    severity="warning",
    meaning="far above the recent ones",
    step=400,
    metric="loss",
    value=9.4,
    baseline=1.7,
    rows=(800, 801),
)
AGAIN = Alert(
    id="s",
    state="update",
    code="LOSS_SPIKE",
    severity="warning",
    meaning="",
    step=405,
    metric="loss",
    value=8.1,
    baseline=1.7,
    rows=(810, 811),
)


def events(last: int = 1000) -> tuple[Event, ...]:
    """A run with two spikes of one incident, an evaluation, a checkpoint."""
    found: list[Event] = [START]
    for number in range(1, last + 1):
        loss = {400: 9.4, 405: 8.1}.get(number, 1.7 + (number % 7) / 100)
        found.append(
            step(number, loss, dt=1.2, tok_s=4000.0 + number % 3, tokens=4096, rows=(number * 2, number * 2 + 1))
        )
        found += {400: [SPIKE], 405: [AGAIN], 500: [Eval(step=500, loss=1.9, best=True)]}.get(number, [])
        found += [Checkpoint(step=600, path="c/step-600", seconds=2.0, bytes=1)] if number == 600 else []
    return tuple(found)


def news(*more: Event, last: int = 1000, path: Path | None = None) -> Update:
    """All of it as one update; written to the log too where a path is given, as the engine does."""
    told: tuple[Stamped, ...] = stamped(*events(last), *more)
    return Update(events=told, life="live") if path is None else logged(path, *told)


def logged(path: Path, *told: Stamped) -> Update:
    """These events, in the log too."""
    offsets = []
    with path.open("wb") as log:
        for one in told:
            offsets.append(log.tell())
            log.write(encode(one.event, one.t).encode() + b"\n")
    return Update(events=told, life="live", offsets=tuple(offsets))


async def pressed(app: Host, pilot: Pilot[Goodbye], *keys: str) -> View:
    await pilot.press(*keys)
    await pilot.pause()
    return app.dashboard.view


def seen(app: Host) -> tuple[float, float]:
    window = app.live.looking(app.dashboard.view, None).window
    assert window is not None
    return window


async def test_the_cursor_shows_one_step_in_every_chart_and_in_words(tmp_path: Path) -> None:
    async with hosted(tmp_path, now=2000.0) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "n", "N", "N", "N")
        assert app.dashboard.view.cursor == 400
        texts = app.texts
        assert "step 400" in texts["cursor"] and "loss 9.400" in texts["cursor"] and "1.700" in texts["cursor"]
        assert " 9.400 " in texts["loss"].splitlines()[0]
        assert "usually 1.700" in texts["loss"] and "ema 0.98 = 1." in texts["loss"]
        assert "before step 400" in texts["dt"] + texts["tok_s"] or "usually" in texts["dt"]
        for chart in ("loss", "grad_norm", "tok_s", "dt", "lr"):
            assert any(role == "cursor" or text == "│" for row in panel_lines(app, chart) for text, role in row), chart
        await pressed(app, pilot, "escape")
        assert "cursor" not in app.texts


def panel_lines(app: Host, name: str) -> list[Any]:
    """The inside of a panel."""
    drawn = next(one for one in app.dashboard.drawn if one.id == name)
    return [row[1:-1] for row in drawn.lines[1:-1]]


async def test_the_cursor_walks_by_columns_and_home_and_end_lead_to_the_ends(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        assert (await pressed(app, pilot, "left")).cursor == 1000
        near = (await pressed(app, pilot, "h")).cursor
        far = (await pressed(app, pilot, "shift+left")).cursor
        assert near is not None and far is not None and 900 < near < 1000 and far < near - 5 * (1000 - near)
        assert (await pressed(app, pilot, "l")).cursor == pytest.approx(far + (near - far) / 10, abs=20)
        assert (await pressed(app, pilot, "home")).cursor == 1
        assert (await pressed(app, pilot, "end")).cursor is None
        assert " 1.7" in app.texts["loss"].splitlines()[0], "the newest values again"


async def test_zoom_pan_and_the_whole_run_again(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "minus")
        assert "this is the whole run" in app.texts["keys"]
        await pressed(app, pilot, "plus", "plus", "plus")
        start, end = seen(app)
        assert 80 < end - start < 250 and start < 1000 < end
        whole = app.texts["loss"]
        await pressed(app, pilot, "less_than_sign")
        assert seen(app)[0] == pytest.approx(start - (end - start) / 2, abs=20)
        assert app.texts["loss"] != whole
        assert "◂ a part of the run ▸" in app.texts["status"]
        for _ in range(12):
            await pressed(app, pilot, "plus")
        assert "closer than this" in app.texts["keys"]
        await pressed(app, pilot, "0")
        assert app.dashboard.view.window is None and "part" not in app.texts["status"]


async def test_the_first_line_tells_another_axis(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        assert "by " not in app.texts["status"]
        await pressed(app, pilot, "t")
        assert "by tokens" in app.texts["status"]


async def test_a_zoomed_view_follows_the_newest_steps_until_something_is_looked_at(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news(last=500))
        await pressed(app, pilot, "f")
        start, end = seen(app)
        assert end - start < 200 and start < 500 < end
        await app.deliver(pilot, Update(events=stamped(*(step(number) for number in range(501, 900))), life="live"))
        assert seen(app)[0] < 899 < seen(app)[1]
        await pressed(app, pilot, "left")
        still = seen(app)
        await app.deliver(pilot, Update(events=stamped(*(step(number) for number in range(900, 1500))), life="live"))
        assert seen(app) == still, "what is looked at does not run away"
        await pressed(app, pilot, "end")
        assert seen(app)[0] < 1499 < seen(app)[1]


@pytest.mark.parametrize(
    ("keys", "axis", "label"),
    [
        (("t",), "tokens", "M"),
        (("t", "t"), "time", "m"),
        (("t", "t", "t"), "epoch", "."),
        (("t",) * 4, "step", "1 000"),
    ],
)
async def test_t_goes_through_the_x_axes_with_the_same_steps(tmp_path: Path, keys: str, axis: str, label: str) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "home", "l")
        before = app.dashboard.view.cursor
        await pressed(app, pilot, *keys)
        assert app.dashboard.view.axis == axis and app.dashboard.view.cursor == before
        assert label in app.texts["loss"].splitlines()[-2], app.texts["loss"]
        assert f"x axis: {axis}"[:12] in app.texts["keys"]


async def test_n_walks_the_marks_in_time_and_reads_their_alerts(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news(Resume(from_step=1000, checkpoint="c")))
        walked = [(await pressed(app, pilot, "N")).cursor for _ in range(6)]
        assert walked == [1000, 600, 500, 405, 400, 400]
        assert "no earlier mark" in app.texts["keys"]
        assert app.dashboard.alerts.selected is not None
        assert [(await pressed(app, pilot, "n")).cursor for _ in range(3)] == [405, 500, 600]
        assert app.dashboard.alerts.selected is None, "a checkpoint is no alert"
        await pressed(app, pilot, "escape")
        assert app.dashboard.view.cursor is None


async def test_each_incident_of_a_step_is_a_stop_of_its_own(tmp_path: Path) -> None:
    worse = replace(SPIKE, id="worse", code="NON_FINITE_GRAD", severity="error", metric="grad_norm")
    saved = Checkpoint(step=400, path="c/step-400", seconds=2.0, bytes=1)
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news(worse, saved))

        async def read(key: str) -> tuple[int | None, str | None]:
            view = await pressed(app, pilot, key)
            alert = app.dashboard.alerts.selected
            return view.cursor, alert.id if alert is not None else None

        for _ in range(3):
            await pressed(app, pilot, "N")  # the checkpoint, the evaluation, the spike's later step
        assert [await read("N") for _ in range(2)] == [(400, "s"), (400, "worse")]
        assert [await read("n") for _ in range(2)] == [(400, "s"), (405, "s")]


async def test_a_mark_outside_the_window_is_brought_into_it(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "f", "N", "N", "N")
        start, end = seen(app)
        assert app.dashboard.view.cursor == 405 and start <= 405 < end


@contextmanager
def inspections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[tuple[int, ...], int | None]]]:
    """What would be opened."""
    asked: list[tuple[tuple[int, ...], int | None]] = []

    def note(_app: PgsApp, message: DashboardScreen.Inspecting) -> None:
        asked.append((message.rows, message.spike))

    monkeypatch.setattr(PgsApp, "on_dashboard_screen_inspecting", note)
    yield asked


async def test_enter_opens_the_rows_of_each_step_that_an_alert_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with inspections(monkeypatch) as asked:
        async with hosted(tmp_path) as (app, pilot):
            await app.deliver(pilot, news())
            await pressed(app, pilot, "N", "N", "N", "enter")
            await pressed(app, pilot, "N", "enter")
            await until(pilot, lambda: len(asked) > 1)
            assert asked == [((810, 811), None), ((800, 801), None)]


async def test_enter_opens_the_rows_of_a_finding_about_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = AuditFlag(code="EMPTY_ANSWERS", severity="warning", count=3, message="empty", first_rows=(4, 9))
    with inspections(monkeypatch) as asked:
        async with hosted(tmp_path) as (app, pilot):
            told = stamped(START, Audit(flags=(flag,)), *events(last=50)[1:])
            await app.deliver(pilot, Update(events=told, life="live"))
            await pressed(app, pilot, "n", "enter")
            await until(pilot, lambda: asked)
            assert asked == [((4, 9), None)]


async def test_enter_opens_the_recorded_batch_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spikes").mkdir()
    (tmp_path / "spikes" / "step-400.json").write_text("{}")
    with inspections(monkeypatch) as asked:
        async with hosted(tmp_path) as (app, pilot):
            await app.deliver(pilot, news())
            await pressed(app, pilot, "N", "N", "N", "N")
            assert "Enter its batch" in app.texts["cursor"]
            await pressed(app, pilot, "enter")
            await until(pilot, lambda: asked)
            assert asked == [((), 400)]


async def test_enter_opens_the_rows_of_any_step_from_its_line_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with inspections(monkeypatch) as asked:
        async with hosted(tmp_path) as (app, pilot):
            await app.deliver(pilot, news(path=tmp_path / "events.jsonl"))
            await pressed(app, pilot, "home")
            await until(pilot, lambda: "rows" in app.texts["cursor"])
            assert "rows 2, 3" in app.texts["cursor"] and "Enter its rows" in app.texts["cursor"]
            await pressed(app, pilot, "enter")
            await until(pilot, lambda: asked)
            assert asked == [((2, 3), None)]


async def test_a_step_whose_rows_are_not_known_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inspections(monkeypatch) as asked:
        async with hosted(tmp_path) as (app, pilot):
            await app.deliver(pilot, news())
            await pressed(app, pilot, "home", "enter")
            assert asked == [] and "rows of this step are not known" in app.texts["keys"]


async def test_escape_leaves_one_layer_after_the_other(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "tab", "plus", "left", "m")
        assert app.dashboard.arrangement.alone == "loss"
        await pressed(app, pilot, "escape")
        assert app.dashboard.arrangement.alone is None and app.dashboard.view.cursor is not None
        await pressed(app, pilot, "escape")
        assert app.dashboard.view.cursor is None and app.dashboard.view.window is not None
        await pressed(app, pilot, "escape")
        assert app.dashboard.view.window is None and app.screen.focused is not None
        await pressed(app, pilot, "escape")
        assert app.screen.focused is None


async def test_many_keys_at_once_are_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        drawn: list[View] = []
        before = DashboardScreen._draw_view
        monkeypatch.setattr(
            DashboardScreen, "_draw_view", lambda screen: (drawn.append(screen.view), before(screen))[0]
        )
        for _ in range(30):
            app.dashboard.action_left()
        await pilot.pause()
        assert drawn == [app.dashboard.view]


async def test_a_resume_takes_the_cursor_back_with_it(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "left", "left")
        await app.deliver(pilot, Update(events=stamped(Resume(from_step=300, checkpoint="c"), step(301)), life="live"))
        assert "step 301" in app.texts["cursor"]
        await pressed(app, pilot, "left")
        assert (app.dashboard.view.cursor or 0) < 301


async def test_a_log_that_is_emptied_changes_nothing_of_what_is_looked_at(tmp_path: Path) -> None:
    """What was drawn stays, and what the log tells now is drawn behind it."""
    note = "log was emptied, reading from the start"
    emptied = stamped(step(1001), step(1002, 5.5), start=5000.0)
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "plus", "left")
        before = app.dashboard.view
        await app.deliver(pilot, Update(events=emptied, notes=(note,), life="live", restarted=True))
        assert app.dashboard.view == before and "cursor" in app.texts
        assert app.dashboard.live is not None and list(app.dashboard.live.history.steps) == list(range(1, 1003))
        assert note in " ".join(screen_text(app))
        await pressed(app, pilot, "end")
        assert " 5.500 " in app.texts["loss"].splitlines()[0]


async def test_a_log_of_another_run_is_seen_from_its_beginning(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, news())
        await pressed(app, pilot, "plus", "left")
        await app.deliver(pilot, Update(events=stamped(START, step(1, 5.5)), life="live", restarted=True))
        assert app.dashboard.view == View() and "cursor" not in app.texts
        assert " 5.500 " in app.texts["loss"].splitlines()[0]


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (60, 15), (80, 24), (200, 50)])
async def test_the_view_works_at_every_size_and_look(tmp_path: Path, size: tuple[int, int]) -> None:
    async with hosted(tmp_path, size, look=Look(glyphs="ascii")) as (app, pilot):
        for keys in (("left", "plus", "f", "t", "n"),):
            await pressed(app, pilot, *keys)
        await app.deliver(pilot, news(End(status="finished", reason="", exit_code=0, last_step=1000), last=60))
        await pressed(app, pilot, "left", "plus", "t", "less_than_sign", "n", "N", "L", "H", "f", "end", "home", "0")
        shown = screen_text(app)
        assert all(row.isascii() for row in shown)
        if size[0] >= 60:
            assert "step 1 " in " ".join(shown)


async def test_the_cursor_tells_padding_and_clipping_beside_speed_and_norm(tmp_path: Path) -> None:
    counts = step(1, tokens=14, slots=16, loss_tokens=5, dt=0.5, tok_s=28.0, grad_norm=5.0, clip_scale=0.2)
    async with hosted(tmp_path, (200, 50)) as (app, pilot):
        await app.deliver(pilot, logged(app.live.run.events, *stamped(counts, step(2))))
        await pressed(app, pilot, "home")
        await until(pilot, lambda: "padding" in app.texts["cursor"])
        for words in ("tok/s 28", "padding 12.5 %", "grad norm 5.00", "clipped to 0.20"):
            assert words in app.texts["cursor"]
