"""Incidents: each step they touched with what was measured there, and what a resume makes of them."""

from __future__ import annotations

import math
from typing import Any

from engine.events import Alert, End, Event, Resume
from engine.incidents import MOST, Incidents
from pgs_tui.history.history import History
from tests.pgs_tui.making import stamped, step


def alert(step: int | None, state: str = "open", *, id: str = "a", **fields: Any) -> Alert:
    known: dict[str, Any] = {"code": "SPIKE_SKIPPED", "severity": "warning", "meaning": "m", "metric": "loss"}
    return Alert(id=id, state=state, step=step, **{**known, **fields})  # type: ignore[arg-type]


def history_of(*events: Event) -> History:
    history = History()
    history.fold(stamped(*events))
    return history


def steps(first: int, last: int) -> list[Event]:
    return [step(number) for number in range(first, last + 1)]


THREE_SPIKES = (
    *steps(1, 399),
    alert(400, value=9.0, baseline=1.7, rows=(800, 801)),
    *steps(400, 401),
    alert(402, "update", value=8.0, baseline=1.6, rows=(804,), count=2),
    *steps(402, 404),
    alert(405, "update", value=7.0, baseline=1.5, rows=(810, 811), count=3),
    *steps(405, 420),
    alert(405, "closed", value=7.0, baseline=1.5, rows=(810, 811), count=3),
)


def test_step_value_and_rows_of_an_incident_belong_together() -> None:
    (incident,) = history_of(*THREE_SPIKES).incidents.all()
    assert (incident.step, incident.value, incident.baseline, incident.rows) == (400, 9.0, 1.7, (800, 801))
    assert (incident.last_step, incident.count, incident.open) == (405, 3, False)


def test_each_touched_step_is_kept_with_its_own() -> None:
    incidents = history_of(*THREE_SPIKES).incidents
    assert [(one.step, one.value, one.baseline, one.rows) for one in incidents.touches("a")] == [
        (400, 9.0, 1.7, (800, 801)),
        (402, 8.0, 1.6, (804,)),
        (405, 7.0, 1.5, (810, 811)),
    ]
    at_405 = incidents.touch("a", 405)
    assert at_405 is not None and at_405.rows == (810, 811)
    assert incidents.touch("a", 404) is None


def test_a_value_that_is_nan_is_told_from_none() -> None:
    first, second = history_of(alert(1, value=math.nan), alert(2, "update")).incidents.touches("a")
    assert first.value is not None and math.isnan(first.value)
    assert second.value is None


def test_a_resume_within_an_incident_opens_it_again_as_it_was_then() -> None:
    history = history_of(*THREE_SPIKES)
    history.fold(stamped(Resume(from_step=403, checkpoint="c")))
    (incident,) = history.incidents.all()
    assert (incident.open, incident.count, incident.last_step) == (True, 2, 402)
    assert [touch.step for touch in history.incidents.touches("a")] == [400, 402]


def test_a_resume_before_an_incident_puts_it_aside() -> None:
    history = history_of(*THREE_SPIKES, alert(None, id="gpu", code="GPU_LOST"))
    history.fold(stamped(Resume(from_step=399, checkpoint="c"), *steps(400, 410)))
    assert [one.id for one in history.incidents.all()] == ["gpu"], "what belongs to no step stays"
    assert [one.id for one in history.incidents.superseded] == ["a"]
    history.fold(stamped(alert(405, rows=(1,))))
    assert [one.step for one in history.incidents.all()] == [None, 405], "the same name may come again"


def test_a_resume_after_an_incident_leaves_it_closed() -> None:
    history = history_of(*THREE_SPIKES, Resume(from_step=420, checkpoint="c"))
    assert [one.open for one in history.incidents.all()] == [False]


def test_a_run_that_has_finished_has_no_open_incident_of_its_pace() -> None:
    slow, rising = alert(398, id="slow", code="STEP_SLOW"), alert(390, id="rises", code="EVAL_RISES")
    end = End(status="finished", reason="all epochs done", exit_code=0, last_step=399)
    history = history_of(*steps(1, 399), slow, rising, end)
    assert [(one.id, one.open) for one in history.incidents.all()] == [("slow", False), ("rises", True)]
    failed = history_of(*steps(1, 399), slow, End(status="failed", reason="no", exit_code=1, last_step=399))
    assert failed.incidents.all()[0].open, "it may be why"


def test_severity_goes_back_with_the_steps() -> None:
    history = history_of(
        *steps(1, 9),
        alert(5, severity="error"),
        alert(8, "update", severity="critical", count=2),
        Resume(from_step=6, checkpoint="c"),
    )
    assert [one.severity for one in history.incidents.all()] == ["error"]


def test_alerts_without_end_do_not_fill_the_memory() -> None:
    incidents = Incidents()
    incidents.take(alert(0, id="stays open"))
    for number in range(MOST + 10):
        incidents.take(alert(number, "closed", id=f"over {number}"))
    assert len(incidents) == MOST
    assert incidents.forgotten == 11
    assert incidents.get("stays open") is not None
    assert incidents.get("over 10") is None
    assert incidents.get(f"over {MOST + 9}") is not None
