"""A run on another machine: how the connection stands is told in every terminal, and what is needed over there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from pgs_tui.apps.dashboard import Goodbye
from pgs_tui.goals import AttachTo, ListRuns
from pgs_tui.runs.follow import Update
from pgs_tui.runs.link_status import LinkStatus
from screens.dashboard.live import LiveRun
from screens.dashboard.remote_spike import RemoteSpike
from screens.dialogs.confirm import Confirm
from tests.pgs_tui.making import stamped, step
from tests.screens.far_run import NO_PYTHON, FarRun
from tests.screens.hosting import Host, hosted, screen_text
from tests.screens.inspecting import until
from tests.screens.scenes import SPIKE, training

SIZES = [(60, 15), (80, 24), (120, 36), (200, 50)]


async def told(app: Host, pilot: Pilot[Goodbye], link: LinkStatus) -> str:
    """What the screen says once the link stands so."""
    await app.deliver(pilot, Update(life="live", link=link))
    return " ".join(" ".join(screen_text(app)).split())


@pytest.mark.parametrize("size", SIZES)
async def test_a_lost_connection_is_told_with_its_reason_its_age_and_the_next_try(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    far = FarRun(tmp_path)
    async with hosted(tmp_path, size, goal=AttachTo(far)) as (app, pilot):
        assert "connecting to me@box" in await told(app, pilot, far.status)
        await app.deliver(pilot, training())
        app.now = 1040.0
        lost = far.become("lost", since=1035.0, heard=1030.0, retry_at=1048.0, why="box: Connection reset by peer")
        text = await told(app, pilot, lost)
        assert "? lost, again in 8 s" in text
        assert "the connection to me@box is lost: Connection reset by peer" in text
        assert "what is shown is 40 s old" in text and "R tries now" in text
        assert "1.672" in text, "what is known stays on the screen"
        assert "q leave, run goes on" in screen_text(app)[-1]
        await pilot.press("R")
        assert far.tried == 1
        text = await told(app, pilot, far.become("up", since=1041.0, heard=1041.0, retry_at=None, why=""))
        assert "lost" not in text and "● training" in text


async def test_the_countdown_goes_on_without_news(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    async with hosted(tmp_path, goal=AttachTo(far)) as (app, pilot):
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(life="live", link=far.become("lost", retry_at=1030.0, why="gone")))
        assert "again in 30 s" in app.texts["status"]
        assert app.live.status_changes_in() <= 1
        app.now = 1021.0
        app.dashboard._tell_time()
        assert "again in 9 s" in app.texts["status"]
        app.now = 1031.0
        app.dashboard._tell_time()
        assert "trying" in app.texts["status"]


async def test_a_refused_connection_says_that_only_a_person_can_mend_it(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    async with hosted(tmp_path, (80, 24), goal=AttachTo(far)) as (app, pilot):
        await app.deliver(pilot, training())
        text = await told(app, pilot, far.become("refused", why="box: Permission denied (publickey)"))
        assert "? refused" in text and "Permission denied" in text and "leave and attach again" in text


async def test_a_run_that_cannot_be_seen_is_not_called_silent_or_dead(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    async with hosted(tmp_path, goal=AttachTo(far), now=1000.0) as (app, pilot):
        await app.deliver(pilot, training())
        app.now = 9000.0
        await told(app, pilot, far.become("lost", retry_at=9001.0, why="gone"))
        app.dashboard._look_after()
        assert not app.live.incidents()


def test_ages_are_those_of_the_far_clock(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    live = LiveRun(far, lambda: 1000.0)
    link = far.become("up", skew=-300.0)
    live.take(Update(events=stamped(*(one.event for one in training().events), start=635.0), life="live", link=link))
    assert live.age is not None and live.age < 5


def test_whoever_leaves_is_told_how_to_come_back_to_the_other_machine(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    live = LiveRun(far, lambda: 1000.0)
    live.take(Update(events=training().events, life="live", link=far.become("up")))
    assert "on me@box goes on at step 1 240. Come back with:" in live.farewell()
    assert live.farewell().endswith("attach me@box:runs/night")
    live.take(Update(life="live", link=far.become("lost", retry_at=1001.0, why="gone")))
    assert "goes on, as far as is known, at step 1 240" in live.farewell()


@pytest.mark.parametrize(("key", "size"), [("i", (80, 24)), ("p", (120, 36)), ("i", (30, 12))])
async def test_what_needs_python_over_there_says_so(tmp_path: Path, key: str, size: tuple[int, int]) -> None:
    async with hosted(tmp_path, size, goal=AttachTo(FarRun(tmp_path))) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press(key)
        assert isinstance(app.screen, Confirm) == (size[0] < len(NO_PYTHON) + 2)
        text = " ".join(" ".join(screen_text(app)).replace("│", " ").split())
        assert NO_PYTHON in text


def record(step: int) -> str:
    rows = [
        {"row": 7, "file": "a.jsonl", "line": 8, "input_ids": [5, 6], "has_loss": [False, True], "losses": [None, 0.5]},
        {"row": 9, "file": None, "line": None, "input_ids": [5, 1], "has_loss": [True] * 2, "losses": ["NaN", 14.25]},
    ]
    left_out = {"rows": [3], "tokens": 1200}
    return json.dumps({"v": 1, "step": step, "loss": 9.41, "grad_norm": None, "rows": rows, "left_out": left_out})


@pytest.mark.parametrize("size", SIZES)
async def test_enter_on_an_alert_shows_the_record_of_the_far_machine(tmp_path: Path, size: tuple[int, int]) -> None:
    far = FarRun(tmp_path)
    far.records[1102] = record(1102)
    async with hosted(tmp_path, size, goal=AttachTo(far)) as (app, pilot):
        update = training()
        await app.deliver(pilot, Update(events=(*update.events, *stamped(SPIKE)), life="live", link=far.become("up")))
        await pilot.press("a", "enter")
        await until(pilot, lambda: isinstance(app.screen, RemoteSpike))
        await until(pilot, lambda: "without the tokens' text" in " ".join(screen_text(app)))
        text = " ".join(" ".join(screen_text(app)).replace("│", " ").split())
        assert "the batch of step 1 102" in text and "row 9 mean loss NaN" in text, "the worst row comes first"
        await pilot.press("end")
        text = " ".join(" ".join(screen_text(app)).replace("│", " ").split())
        assert "0.500 token 6 at 1" in text
        await pilot.press("escape")
        assert app.screen is app.dashboard


async def test_a_batch_that_was_not_recorded_names_the_rows(tmp_path: Path) -> None:
    async with hosted(tmp_path, (120, 36), goal=AttachTo(FarRun(tmp_path))) as (app, pilot):
        await app.deliver(pilot, Update(events=(*training().events, *stamped(SPIKE)), life="live"))
        await pilot.press("a", "enter")
        assert f"rows 8812, 8813: {NO_PYTHON}" in app.texts["keys"]


async def test_a_record_that_is_broken_is_told(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    far.records[1102] = '{"v": 1, "step": 1102, "rows": 3}'
    async with hosted(tmp_path, goal=AttachTo(far)) as (app, pilot):
        await app.deliver(pilot, Update(events=(*training().events, *stamped(SPIKE)), life="live"))
        await pilot.press("a", "enter")
        await until(pilot, lambda: "is no record of a step" in app.texts["keys"])


async def test_a_terminal_that_gets_lower_keeps_its_keys_in_sight_below_what_is_said(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    shown: list[list[str]] = []
    for begins in ((60, 15), (80, 24)):
        async with hosted(tmp_path, begins, goal=AttachTo(far)) as (app, pilot):
            await app.deliver(pilot, training())
            await told(app, pilot, far.become("lost", retry_at=1008.0, why="box: Connection reset by peer"))
            await pilot.resize_terminal(60, 15)
            await pilot.pause()
            shown.append(screen_text(app))
    assert "q leave, run goes on" in shown[0][-1]
    assert shown[0] == shown[1], "it is laid out like one that was as low from the start"


async def test_while_the_past_is_fetched_the_present_is_seen(tmp_path: Path) -> None:
    far = FarRun(tmp_path)
    async with hosted(tmp_path, (120, 36), goal=AttachTo(far)) as (app, pilot):
        start = training()
        survey = replace(start, events=(), columns=start.events, survey=True, loading=True, progress=0.0)
        await app.deliver(pilot, survey)
        assert "reading the log" in app.texts["status"]
        news = Update(events=stamped(step(1241)), life="live", preview=True, loading=True, progress=0.4)
        await app.deliver(pilot, news)
        assert "● training · past 40 %" in app.texts["status"] and "1 241" in app.texts["status"]
        whole = replace(start, events=(*start.events, *stamped(step(1241))), loading=False)
        await app.deliver(pilot, whole)
        assert "past" not in app.texts["status"] and "1 241" in app.texts["status"]
        assert app.live.history.steps.count(1241) == 1, "what was seen meanwhile is not counted twice"


async def test_what_is_no_run_over_there_is_one_sentence(tmp_path: Path) -> None:
    for back in (None, ListRuns("me@box:runs")):
        far = FarRun(tmp_path)
        refused = far.become("refused", why="me@box:runs/night is no run")
        async with hosted(tmp_path, goal=AttachTo(far, back=back)) as (app, pilot):
            await app.deliver(pilot, Update(link=refused, loading=True))
        goodbye = app.return_value
        assert goodbye is not None
        if back is None:
            assert (goodbye.exit_code, goodbye.refused) == (2, "pgs-tui: me@box:runs/night is no run")
        else:
            assert goodbye.next == replace(back, note="me@box:runs/night is no run"), "the list says it"
