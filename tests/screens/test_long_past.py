"""A long past on the dashboard: a survey at once, then everything, and keys all the while."""

from pathlib import Path

import pytest

from engine.events import End, Eval, Event, Phase, encode
from engine.events.portions import portion_of
from engine.rundir import RunDir
from pgs_tui.runs.follow import Follower, Update
from pgs_tui.runs.past import past_of
from pgs_tui.runs.source import LocalRun
from screens.dashboard.live import LiveRun
from tests.pgs_tui.making import ScriptedEngine, ScriptedLog, stamped, step


def live_run(folder: Path) -> LiveRun:
    return LiveRun(LocalRun(RunDir(folder), "a run"))


def columns_of(*events: Event) -> Update:
    log = b"".join(encode(event, 1000.0 + place).encode() + b"\n" for place, event in enumerate(events))
    return Update(columns=portion_of(log).blocks, loading=True, life="live")


def test_a_survey_is_shown_until_all_is_read_and_leaves_nothing_behind(tmp_path: Path) -> None:
    live = live_run(tmp_path)
    survey = columns_of(step(1), step(50), step(100))
    live.take(Update(columns=survey.columns, survey=True, loading=True, life="live"))
    assert list(live.history.steps) == [1, 50, 100]
    live.take(columns_of(*(step(number) for number in range(1, 90))))
    assert list(live.history.steps) == [1, 50, 100], "a past of which the half is missing is not shown"
    live.take(Update(stamped(*(step(number) for number in range(90, 102))), life="live"))
    assert list(live.history.steps) == list(range(1, 102))


def test_what_was_worked_out_for_the_survey_stands_for_the_past_once_it_is_read(tmp_path: Path) -> None:
    live = live_run(tmp_path)
    survey = columns_of(step(1), step(50))
    live.take(Update(columns=survey.columns, survey=True, loading=True, life="live"))
    live.history.smooth_columns("loss", 0.9, 0.0, 100.0, 10)
    live.take(columns_of(*(step(number, loss=3.0) for number in range(1, 90))))
    live.take(Update(life="live"))
    assert live.history.smoothed("loss") == pytest.approx(3.0)


def test_a_survey_judges_nothing(tmp_path: Path) -> None:
    live = live_run(tmp_path)
    end = End(status="finished", reason="", exit_code=0, last_step=3)
    survey = columns_of(step(1), step(3), end)
    live.take(Update(columns=survey.columns, survey=True, loading=True, life="gone"))
    assert live.going
    live.take(Update(stamped(step(1), step(2), step(3), end), life="gone"))
    assert not live.going


def test_a_log_that_begins_anew_while_it_is_read_brings_a_new_past(tmp_path: Path) -> None:
    live = live_run(tmp_path)
    survey = columns_of(step(1), step(90))
    live.take(Update(columns=survey.columns, survey=True, loading=True, life="live"))
    live.take(columns_of(Eval(step=90, loss=1.0, best=True), step(1), step(90)))
    live.take(Update(stamped(step(1), step(2)), restarted=True, loading=True, life="live"))
    assert list(live.history.steps) == [1, 90], "what was read stays until all of the new start is read"
    live.take(Update(stamped(step(3), start=1002.0), life="live"))
    assert (list(live.history.steps), live.history.best) == ([1, 2, 3], None)


def test_a_run_of_thousands_of_steps_is_followed_from_its_log(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    events: list[Event] = [Phase(name="training"), *(step(number, loss=3.0) for number in range(1, 6001))]
    log = b"".join(encode(event, 1000.0 + place).encode() + b"\n" for place, event in enumerate(events))
    run.events.write_bytes(log)
    past = past_of(run.events)
    assert past is not None
    live = live_run(tmp_path)
    following = Follower(past.reader(), ScriptedLog(), ScriptedEngine().look, past=past)

    def deliver(update: Update) -> None:
        live.take(update)
        following.taken()

    following.run(deliver, lambda _: True)
    assert list(live.history.steps) == list(range(1, 6001))
    newest = live.history.at(3000)
    assert newest is not None and newest.step == 3000
