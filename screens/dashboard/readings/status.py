"""The first line: how far the run is, in what state, how old the news is."""

from __future__ import annotations

from pgs_tui.drawing.lines import Role
from pgs_tui.widgets.status_line import Status
from screens.dashboard.readings.age import age_of, next_change
from screens.dashboard.readings.situation import Situation
from screens.dashboard.readings.states import state_of

SLOW_CLOCK = 60.0
"""Seconds after which the line is looked at again in any case."""
LATE_SECONDS = 10.0
LATE_STEPS = 8
"""News is late after this many seconds, and this many times the usual time of a step."""


def status_of(situation: Situation) -> Status:
    """The first line."""
    history = situation.history
    state = state_of(situation)
    age, age_role = _age(situation)
    return Status(
        name=situation.name,
        state=state.word,
        sign=state.sign,
        role=state.role,
        step=history.last_step,
        total=history.total_steps,
        epoch=history.epoch,
        remaining=history.remaining_seconds() if _goes_on(situation) else None,
        age=age,
        age_role=age_role,
        held=situation.held,
        where=situation.where,
        readonly=situation.readonly,
    )


def _goes_on(situation: Situation) -> bool:
    """Whether it can be said how long it still takes."""
    phase = situation.history.phase
    is_paused = phase is not None and phase.name == "paused"
    is_seen = not (situation.is_cut_off or situation.is_untold or situation.life == "lost")
    return situation.outcome == "running" and is_seen and not (situation.loading or is_paused)


def _age(situation: Situation) -> tuple[str, Role]:
    history = situation.history
    if situation.loading:
        return "", "dim"
    if history.last_t is None:
        return "no data yet", "dim"
    age = max(situation.now - history.last_t, 0.0)
    if situation.outcome != "running":
        return f"{age_of(age)} ago", "dim"
    late = age > max(LATE_SECONDS, LATE_STEPS * (history.seconds_per_step() or 0.0))
    waiting = history.phase is not None and history.phase.name != "training"
    return f"data {age_of(age)} old", "warn" if (late and not waiting) or situation.is_cut_off else "dim"


def status_changes_in(situation: Situation) -> float:
    """In how many seconds the line will say something else, should no news come."""
    history = situation.history
    known = history.last_t
    if situation.link is not None and situation.link.retry_at is not None and situation.link.state == "lost":
        left = situation.link.retry_at - situation.clock
        return left % 1.0 or 1.0 if left > 0 else 1.0
    if known is None or situation.loading:
        return SLOW_CLOCK
    soonest = next_change(situation.now - known)
    if situation.phase_since is not None and state_of(situation).sentence:
        soonest = min(soonest, next_change(situation.now - situation.phase_since))
    return min(soonest, SLOW_CLOCK)
