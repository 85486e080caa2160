"""The states that a run can be in: for each a word, a sign and a sentence that says what goes on."""

from __future__ import annotations

from dataclasses import replace

from engine.events import Phase
from pgs_tui.drawing.lines import Role
from pgs_tui.format import gib, percent, plain, whole
from screens.dashboard.readings.age import age_of
from screens.dashboard.readings.links import cut_off
from screens.dashboard.readings.situation import OUTCOME_SIGNS, Situation
from screens.dashboard.readings.state import State

PHASE_SIGNS: dict[str, tuple[str, Role]] = {"training": ("●", "good"), "paused": ("‖", "warn")}
STARTING = State("○", "starting", "dim", "○ the engine starts", "then come the data, the model and the first step")
UNKNOWN = "? nobody here can tell whether its engine lives: the log has no end"
BUSY: tuple[str, Role] = ("◐", "accent")
PHASE_NAMES = {"rehearsing": "trying the longest batch"}
SENTENCES = {
    "downloading": "the model is downloaded; it stays on the disk for the next start",
    "reading data": "the rows of the data are read",
    "tokenizing": "rows become tokens; they stay on the disk for the next start",
    "loading model": "the model's weights are read from the disk",
    "rehearsing": "the longest batch is tried first, so that memory that is too small shows now, not in an hour",
    "compiling": "the first step compiles and tunes kernels, which can take minutes; the next ones are quick",
}
"""What goes on before the first step. Later phases need no sentence: the curves speak."""


def state_of(situation: Situation) -> State:
    """What the run is doing, as far as can be seen from here."""
    outcome = situation.outcome
    if outcome == "running" and (state := cut_off(situation)) is not None:
        return state
    if outcome != "running":
        sign, role = OUTCOME_SIGNS[outcome]
        return State(sign, outcome, role)
    if situation.loading:
        progress = f" {percent(situation.progress)}" if situation.progress is not None else ""
        return State("◐", f"reading the log{progress}", "accent")
    if situation.is_awaited:
        return STARTING
    if situation.life == "foreign":
        return State("○", "log of another tool", "accent")
    state = _of_phase(situation)
    if situation.progress is not None:
        state = replace(state, word=f"{state.word} · past {percent(situation.progress)}")
    if situation.life == "lost":
        return _lost(situation)
    if situation.life == "unknown":
        return State("?", "not known", "warn", UNKNOWN, "its run.json, which names its engine, may not be read here")
    return _elsewhere(situation, state) if situation.life == "elsewhere" else state


def _lost(situation: Situation) -> State:
    host = plain(situation.host or "another machine")
    known = situation.history.last_t
    since = f" for {age_of(situation.now - known)}" if known is not None else ""
    return State(
        sign="?",
        word=f"silent on {host}",
        role="warn",
        sentence=f"? nothing has been heard of it{since}",
        more=f"its engine ran on {host}, where this machine cannot look whether it is still there",
    )


def _elsewhere(situation: Situation, state: State) -> State:
    host = plain(situation.host or "another machine")
    return State(
        sign=state.sign,
        word=f"{state.word} on {host}",
        role=state.role,
        sentence=f"{state.sign} its engine runs on {host}: from here only its log can be seen",
        more=state.sentence or "stop and pause are written to its folder, where it looks for them",
    )


def _of_phase(situation: Situation) -> State:
    phase = situation.history.phase
    if phase is None and situation.history.last_step is not None:  # its log was emptied, and goes on with steps
        sign, role = PHASE_SIGNS["training"]
        return State(sign, "training", role)
    if phase is None:
        return STARTING
    sign, role = PHASE_SIGNS.get(phase.name, BUSY)
    word = plain(PHASE_NAMES.get(phase.name, phase.name)) + _progress(phase)
    since = situation.phase_since
    lasted = f" · {age_of(situation.now - since)} so far" if since is not None else ""
    if phase.name == "paused":
        return State(sign, word, role, *_paused(situation, lasted))
    sentence = SENTENCES.get(phase.name)
    return State(sign, word, role, f"{sign} {word}{lasted}" if sentence else "", sentence or "")


def _paused(situation: Situation, lasted: str) -> tuple[str, str]:
    step = situation.history.last_step
    where = f" after step {whole(step)}" if step is not None else ""
    return f"‖ paused{where}{lasted}", "it keeps its memory; P lets it go on, x stops it with a checkpoint"


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
