"""What is marked at the steps of a run, and how one walks from mark to mark."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from engine.events import Alert, Audit, AuditFlag, Checkpoint, Eval, Event, Resume
from pgs_tui.history.history import History
from tests.pgs_tui.making import stamped, step


def alert(
    step: int, *, id: str = "a", code: str = "SPIKE_SKIPPED", metric: str | None = "loss", **fields: Any
) -> Alert:
    known: dict[str, Any] = {"state": "open", "severity": "warning", "meaning": "m"}
    return Alert(id=id, code=code, step=step, metric=metric, **{**known, **fields})


def history_of(*events: Event) -> History:
    history = History()
    history.fold(stamped(*events))
    return history


def steps(first: int, last: int) -> list[Event]:
    return [step(number) for number in range(first, last + 1)]


def kinds(history: History) -> list[tuple[str, int]]:
    return [(mark.kind, mark.step) for mark in history.marks.between(-1, 10**9)]


def test_every_kind_is_marked_at_its_step() -> None:
    flag = AuditFlag(code="HIDDEN", severity="warning", count=2, message="m", first_rows=(3,))
    history = history_of(
        Audit(flags=(flag,)),
        step(1),
        step(2, skipped=True),
        step(3, math.nan),
        step(4, grad_norm=math.inf),
        alert(5),
        step(5),
        Eval(step=5, loss=1.0, best=True),
        Checkpoint(step=5, path="c", seconds=1.0, bytes=1),
        alert(6, id="b", code="STALL", metric="dt"),
        alert(7, id="c", code="MEMORY_GROWS", metric=None),
        *steps(6, 8),
        Resume(from_step=7, checkpoint="c"),
    )
    assert kinds(history) == [
        ("audit", 0),
        ("skipped", 2),
        ("nan", 3),
        ("nan", 4),
        ("spike", 5),
        ("best", 5),
        ("eval", 5),
        ("checkpoint", 5),
        ("stalled", 6),
        ("alert", 7),
        ("resume", 7),
    ]


def test_every_step_that_an_incident_touched_is_marked_with_its_own_rows() -> None:
    history = history_of(
        *steps(1, 10),
        alert(4, rows=(40, 41)),
        alert(6, state="update", rows=(60,), count=2),
        alert(9, state="update", rows=(90, 91), count=3),
        alert(9, state="closed", rows=(90, 91), count=3),
    )
    assert [(mark.step, mark.rows, mark.incident_id) for mark in history.marks.between(1, 10)] == [
        (4, (40, 41), "a"),
        (6, (60,), "a"),
        (9, (90, 91), "a"),
    ]


def test_a_loss_that_is_not_finite_is_one_mark_however_it_was_told() -> None:
    told = alert(2, code="NON_FINITE_LOSS", severity="error")
    (mark,) = history_of(step(1), told, step(2, math.nan), step(3)).marks.at(2)
    assert (mark.kind, mark.incident_id, mark.severity) == ("nan", "a", "error")
    (mark,) = history_of(step(1), step(2, math.nan), step(3)).marks.at(2)
    assert (mark.kind, mark.incident_id, mark.severity, mark.label) == ("nan", None, "error", "loss not finite 2")


def test_walking_goes_to_the_next_marked_step_and_shows_the_gravest() -> None:
    history = history_of(
        *steps(1, 9),
        Eval(step=3, loss=1.0),
        Checkpoint(step=6, path="c", seconds=1.0, bytes=1),
        alert(6, severity="error"),
    )
    first, second = history.marks.after(0), history.marks.after(3)
    assert first is not None and (first.kind, first.step) == ("eval", 3)
    assert second is not None and (second.kind, second.step) == ("spike", 6)
    assert history.marks.after(6) is None
    assert history.marks.newest() == second
    assert history.marks.before(6) == first
    assert history.marks.before(3) is None


def test_a_resume_takes_later_marks_away_and_stays_marked_itself() -> None:
    history = history_of(*steps(1, 9), Eval(step=4, loss=1.0), Eval(step=8, loss=0.9), alert(7))
    history.fold(stamped(Resume(from_step=5, checkpoint="c"), step(6)))
    assert kinds(history) == [("eval", 4), ("resume", 5)]
    history.fold(stamped(Resume(from_step=2, checkpoint="c"), step(3)))
    assert kinds(history) == [("resume", 2), ("resume", 5)]


def test_only_the_best_evaluation_of_all_is_marked_as_such() -> None:
    history = history_of(
        *steps(1, 9),
        Eval(step=3, loss=1.5, best=True),
        Eval(step=6, loss=1.2, best=True),
        Eval(step=8, loss=1.4),
    )
    assert kinds(history) == [("eval", 3), ("best", 6), ("eval", 6), ("eval", 8)]
    history.fold(stamped(Resume(from_step=5, checkpoint="c")))
    assert kinds(history) == [("best", 3), ("eval", 3), ("resume", 5)]


def test_what_is_told_of_a_step_far_from_all_others_is_not_marked() -> None:
    far = 10**12
    saved = Checkpoint(step=far, path="c", seconds=1.0, bytes=1)
    history = history_of(*steps(1, 9), Eval(step=far, loss=1.0), alert(-far), saved)
    assert kinds(history) == []
    assert [one.step for one in history.incidents.all()] == [-far], "the alert itself is shown"


def test_of_many_in_one_column_the_gravest_is_drawn() -> None:
    evals = [Eval(step=number, loss=1.0) for number in range(1, 101)]
    history = history_of(*steps(1, 100), *evals, alert(42, severity="critical"))
    drawn = history.column_marks(1, 101, 10)
    assert len(drawn) == 10
    assert [(mark.kind, x) for x, mark in drawn if mark.kind != "eval"] == [("spike", 42.0)]


def test_a_chart_shows_its_own_marks_and_those_of_all_charts() -> None:
    history = history_of(
        *steps(1, 9),
        alert(3, metric="hidden_norm"),
        alert(5, id="b", code="STALL", metric="dt"),
        Checkpoint(step=7, path="c", seconds=1.0, bytes=1),
    )
    assert [mark.step for _, mark in history.column_marks(1, 10, 9, metrics={"grad_norm", "hidden_norm"})] == [3, 7]
    assert [mark.step for _, mark in history.column_marks(1, 10, 9, metrics={"dt"})] == [5, 7]
    assert [mark.step for _, mark in history.column_marks(1, 10, 9)] == [3, 5, 7]


def test_steps_without_a_loss_are_looked_at_once_a_column() -> None:
    history = history_of(step(1))
    for number in range(2, 5_000):
        history.take(step(number, math.nan), 0.0)
    looked: list[int] = []
    at = history.marks.at
    history.marks.at = lambda step: looked.append(step) or at(step)  # type: ignore[method-assign]
    assert len(history.column_marks(1, 5_000, 100)) == 100
    assert len(looked) <= 100


def test_what_is_marked_is_drawn_at_once_and_taken_away_again() -> None:
    history = history_of(*steps(1, 9))
    assert history.column_marks(1, 10, 9) == ()
    history.take(Checkpoint(step=7, path="c", seconds=1.0, bytes=1), 0.0)
    assert [mark.kind for _, mark in history.column_marks(1, 10, 9)] == ["checkpoint"]
    history.take(alert(9, severity="info"), 0.0)
    assert [mark.severity for _, mark in history.column_marks(1, 10, 9)] == ["info", "info"]
    history.take(replace(alert(9, severity="critical"), state="update"), 0.0)
    assert [mark.severity for _, mark in history.column_marks(1, 10, 9)] == ["info", "critical"]
    history.take(alert(12, id="ahead"), 0.0)
    assert [x for x, _ in history.column_marks(1, 15, 14)] == [7.0, 9.0], "until there is such a step"
    history.take(step(12), 0.0)
    assert [x for x, _ in history.column_marks(1, 15, 14)] == [7.0, 9.0, 12.0]
    history.take(step(8), 0.0)
    assert [x for x, _ in history.column_marks(1, 15, 14)] == [7.0]
