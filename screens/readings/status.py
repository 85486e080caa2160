"""The first line: how far the run is, in what state, how old the news is."""

from __future__ import annotations

from engine.events import Phase
from pgs_tui.format import duration, gib, percent, plain, whole
from pgs_tui.widgets.lines import Role
from pgs_tui.widgets.status_line import Status
from screens.readings.situation import OUTCOME_SIGNS, Situation

PHASE_SIGNS: dict[str, tuple[str, Role]] = {"training": ("●", "good"), "paused": ("‖", "warn")}
PHASE_NAMES = {"rehearsing": "trying the longest batch"}
LATE_SECONDS = 10.0
LATE_STEPS = 8
"""News is late after this many seconds, and this many times the usual time of a step."""


def status_of(situation: Situation) -> Status:
    """The first line."""
    history = situation.history
    sign, state, role = _state(situation)
    age, age_role = _age(situation)
    running = situation.outcome == "running"
    return Status(
        name=situation.name,
        state=state,
        sign=sign,
        role=role,
        step=history.last_step,
        total=history.total_steps,
        epoch=history.series["epoch"].last,
        remaining=history.remaining_seconds() if running and not situation.loading else None,
        age=age,
        age_role=age_role,
        held=situation.held,
    )


def _state(situation: Situation) -> tuple[str, str, Role]:
    outcome = situation.outcome
    if outcome != "running":
        sign, role = OUTCOME_SIGNS[outcome]
        return sign, outcome, role
    if situation.loading:
        return "◐", "reading the log", "accent"
    phase = situation.history.phase
    if phase is None:
        return "○", "starting", "dim"
    sign, role = PHASE_SIGNS.get(phase.name, ("◐", "accent"))
    return sign, plain(PHASE_NAMES.get(phase.name, phase.name)) + _progress(phase), role


def _progress(phase: Phase) -> str:
    if phase.progress is not None:
        return f" {percent(phase.progress)}"
    if phase.done is None:
        return ""
    if phase.unit == "bytes":
        total = f"/{gib(phase.total / 2**30)}" if phase.total else ""
        return f" {gib(phase.done / 2**30)}{total} GiB"
    total = f"/{whole(phase.total)}" if phase.total else ""
    return f" {whole(phase.done)}{total} {plain(phase.unit or '')}".rstrip()


def _age(situation: Situation) -> tuple[str, Role]:
    """Rounded to whole seconds, so that a lively run does not repaint it all the time."""
    history = situation.history
    if situation.loading:
        return "", "dim"
    if history.last_t is None:
        return "no data yet", "dim"
    age = max(situation.now - history.last_t, 0.0)
    if situation.outcome != "running":
        return f"{duration(age)} ago", "dim"
    late = age > max(LATE_SECONDS, LATE_STEPS * (history.seconds_per_step() or 0.0))
    waiting = history.phase is not None and history.phase.name != "training"
    return "data < 1 s old" if age < 1 else f"data {duration(age)} old", "warn" if late and not waiting else "dim"
