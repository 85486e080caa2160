"""What has to be said in full: how the run ended, or what goes on while there is nothing to see."""

from __future__ import annotations

from engine.events import End
from pgs_tui.drawing.lines import Role
from pgs_tui.format import plain, value, whole
from pgs_tui.history.history import History
from pgs_tui.invocation import own_command
from screens.dashboard.readings.situation import OUTCOME_SIGNS, Situation
from screens.dashboard.readings.states import state_of


def banner_of(situation: Situation, last_words: tuple[str, ...]) -> tuple[str, str, Role] | None:
    """How the run ended, or what goes on; what there is to know about it; its role. None where the curves say it."""
    outcome, history = situation.outcome, situation.history
    if outcome == "running":
        state = state_of(situation)
        return (state.sentence, state.more, state.role) if state.sentence else None
    sign, role = OUTCOME_SIGNS[outcome]
    heard = f"last words: {_own_words(history, last_words)}" if last_words else "its log is empty"
    if outcome == "killed":
        return f"{sign} {_vanished(situation)}", f"{_to_go_on(situation)}{heard}", role
    end = history.end
    assert end is not None
    what = f"{sign} {outcome} at step {whole(end.last_step)}{_reason(end)}"
    if outcome == "failed":
        return what, f"{_to_go_on(situation)}exit code {end.exit_code}{_saved(history, end)} · {heard}", role
    best = history.best
    measured = f"best eval {value(best.loss)} at step {whole(best.step)}" if best else "no evaluation"
    kept = ", in checkpoints/best" if history.keeps_best else ""
    return what, f"{_to_go_on(situation)}{measured}{kept}{_saved(history, end)}", role


def _own_words(history: History, last_words: tuple[str, ...]) -> str:
    """The last line that is no answer to a command, if there is one."""
    answers = tuple(plain(ack.message) for ack in history.acks.values() if ack.message)
    return next((words for words in reversed(last_words) if not words.endswith(answers)), last_words[-1])


def _reason(end: End) -> str:
    """Why it ended; the step has been told already."""
    reason = end.reason.replace(f" after step {end.last_step}", "", 1)
    return f": {reason}" if reason else ""


def _saved(history: History, end: End) -> str:
    """The newest checkpoint, where the reason of the end does not tell it."""
    newest = history.checkpoint
    return f" · checkpoint {newest.path}" if newest is not None and newest.path not in end.reason else ""


def _to_go_on(situation: Situation) -> str:
    """How to go on with a run that is not done."""
    is_ours = situation.life != "foreign" and not situation.where
    has_begun = situation.history.start is not None or situation.history.last_step is not None
    can_go_on = is_ours and has_begun and situation.outcome != "finished"
    return f"to go on: R in {own_command()} runs · " if can_go_on else ""


def _vanished(situation: Situation) -> str:
    last, code = situation.history.last_step, situation.exit_code
    if situation.history.start is None and last is None and code is not None:
        return f"the engine did not start: it ended with exit code {code}"
    when = f"after step {whole(last)}" if last is not None else "before its first step"
    how = f"by signal {-code}" if code is not None and code < 0 else "kill -9, out of memory, or a reboot"
    return f"killed {when}: the engine vanished without a word ({how})"
