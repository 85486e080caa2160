"""What has to be said in full: how the run ended, or what goes on while there is nothing to see."""

from __future__ import annotations

from pgs_tui.drawing.lines import Role
from pgs_tui.format import value, whole
from screens.readings.situation import OUTCOME_SIGNS, Situation
from screens.readings.states import state_of


def banner_of(situation: Situation, last_words: tuple[str, ...]) -> tuple[str, str, Role] | None:
    """How the run ended, or what goes on; what there is to know about it; its role. None where the curves say it."""
    outcome, history = situation.outcome, situation.history
    if outcome == "running":
        state = state_of(situation)
        return (state.sentence, state.more, state.role) if state.sentence else None
    sign, role = OUTCOME_SIGNS[outcome]
    heard = f"last words: {last_words[-1]}" if last_words else "its log is empty"
    if outcome == "killed":
        return f"{sign} {_vanished(situation)}", heard, role
    end = history.end
    assert end is not None
    saved = f" · checkpoint {history.checkpoint.path}" if history.checkpoint else ""
    what = f"{sign} {outcome} at step {whole(end.last_step)}" + (f": {end.reason}" if end.reason else "")
    if outcome == "failed":
        return what, f"exit code {end.exit_code}{saved} · {heard}", role
    best = history.best
    measured = f"best eval {value(best.loss)} at step {whole(best.step)}" if best else "no evaluation"
    kept = ", kept in checkpoints/best" if history.keeps_best else ""
    return what, measured + kept + saved, role


def _vanished(situation: Situation) -> str:
    last, code = situation.history.last_step, situation.exit_code
    if situation.history.start is None and last is None and code is not None:
        return f"the engine did not start: it ended with exit code {code}"
    when = f"after step {whole(last)}" if last is not None else "before its first step"
    how = f"by signal {-code}" if code is not None and code < 0 else "kill -9, out of memory, or a reboot"
    return f"killed {when}: the engine vanished without a word ({how})"
