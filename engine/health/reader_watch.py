"""What only a reader of a run can tell: that it is silent, and that its engine is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from engine.events.types import Alert, AlertState, Scalar, Severity
from engine.health.advice import advise
from engine.health.alerts import show
from engine.health.silence import Silence, find_silence
from engine.health.symptoms import SYMPTOMS

SILENT, DEAD = SYMPTOMS["SILENT"], SYMPTOMS["ENGINE_DEAD"]
GONE = ("gone", "killed")
UNSEEN = ("elsewhere", "lost")
"""Engines that cannot be looked at from here; of one that is lost nothing has been heard for long."""
LIVES = ("live", *UNSEEN)
WORTH_SAVING = 20
"""Steps from which it is advised to save sooner: saving a large model each few steps costs more than they do."""
ENGINE_HANGS = "the engine lives and does not get on"
IS_NOT_SEEN = "its engine is on another machine, and whether it lives is not seen from here"
NOTHING_IS_WRITTEN = "nothing is added to the log"


class ReaderWatch:
    """`look` now and then; alerts come when something opens, becomes graver or closes."""

    def __init__(
        self, start: float, settings: Mapping[str, Scalar] | None = None, silent_words: str = ENGINE_HANGS
    ) -> None:
        """`start` is when the reader began (unix seconds); `settings` are the run's own, by key, where known.

        `silent_words` say what a silence means here, of an engine on this machine.
        """
        self._silent_words = silent_words
        self._start = start
        self._settings = settings or {}
        self._silent: Alert | None = None
        self._dead: Alert | None = None
        self._count = 0

    def look(
        self,
        now: float,
        life: str,
        last_step_t: float | None,
        phase: str | None,
        usual_dt: float | None,
        *,
        phase_t: float | None = None,
        last_event_t: float | None = None,
        last_step: int | None = None,
        checkpoint: str | None = None,
    ) -> tuple[Alert, ...]:
        """What has changed at the moment `now` (unix seconds, as all times).

        `life` is that of the engine (`live`, `elsewhere`, `gone` and so on; that of an ended run neither lives nor is
        gone), `usual_dt` the usual seconds from step to step, `phase_t` when the phase began, `checkpoint` the newest
        one. A run on another machine is never called dead: its log may only be late.
        """
        facts: dict[str, Scalar] = {"checkpoint": checkpoint}
        if checkpoint is None and last_step is not None and last_step >= WORTH_SAVING:
            facts["save_steps"] = last_step // 4
        silence = None
        if life in LIVES:
            since_step = None if last_step_t is None else now - max(last_step_t, phase_t or 0.0)
            since_event = now - (last_event_t if last_event_t is not None else self._start)
            silence = find_silence(phase, since_step, since_event, usual_dt)
        return (*self._tell_silence(silence, life, last_step, facts), *self._tell_death(life, last_step, facts))

    def _tell_silence(
        self, silence: Silence | None, life: str, step: int | None, facts: Mapping[str, Scalar]
    ) -> tuple[Alert, ...]:
        known = self._silent
        if silence is None:
            self._silent = None
            ending = SILENT.ending if life in LIVES else "the run is over"
            return (_closed(known, ending),) if known is not None else ()
        if known is not None and known.severity == silence.severity:
            return ()
        usual = f", usually one every {_seconds(silence.usual)}" if silence.usual is not None else ""
        words = IS_NOT_SEEN if life in UNSEEN else self._silent_words
        meaning = SILENT.meaning.format(what=silence.what, age=_seconds(silence.age), usual=usual, words=words)
        self._silent = self._alert(known, "SILENT", silence.severity, meaning, step, facts)
        self._silent = replace(self._silent, metric="silence", value=silence.age, baseline=silence.usual)
        return (self._silent,)

    def _tell_death(self, life: str, step: int | None, facts: Mapping[str, Scalar]) -> tuple[Alert, ...]:
        known = self._dead
        if life not in GONE:
            self._dead = None
            return (_closed(known, DEAD.ending),) if known is not None else ()
        if known is not None:
            return ()
        when = f"after step {step:,}" if step is not None else "before its first step"
        meaning = DEAD.meaning.format(when=when)
        self._dead = self._alert(None, "ENGINE_DEAD", DEAD.severity, meaning, step, facts)
        return (self._dead,)

    def _alert(
        self,
        known: Alert | None,
        code: str,
        severity: Severity,
        meaning: str,
        step: int | None,
        facts: Mapping[str, Scalar],
    ) -> Alert:
        state: AlertState = "open" if known is None else "update"
        if known is None:
            self._count += 1
        id = known.id if known is not None else f"{code.lower()}-{self._count}"
        advice = advise(code, self._settings, facts)
        return Alert(id=id, state=state, code=code, severity=severity, meaning=meaning, step=step, advice=advice)


def earlier_death(count: int, step: int | None) -> Alert:
    """What a log tells whoever reads it of an engine that told no end before the next one began: by now it is over.

    It is the `count`th of the log; `step` is the last that it told. Who watched it has another alert of it until then.
    """
    when = f"after step {step:,}" if step is not None else "before its first step"
    meaning = f"{DEAD.meaning.format(when=when)}; {DEAD.ending}"
    id = f"engine_dead-of-log-{count}"
    return Alert(id=id, state="closed", code="ENGINE_DEAD", severity=DEAD.severity, meaning=meaning, step=step)


def _closed(alert: Alert, ending: str) -> Alert:
    return replace(alert, state="closed", meaning=f"{alert.meaning}; {ending}")


def _seconds(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 60:
        return f"{show(seconds)} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
