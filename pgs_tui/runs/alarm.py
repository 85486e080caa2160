"""What only whoever watches a run can tell of it, and whom it wakes: silence, a dead engine, the bell, the command."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.events import Alert, Stamped
from engine.health.alarm import Alarm
from engine.health.on_critical import OnCritical
from engine.health.reader_watch import ReaderWatch
from engine.incidents import Incident
from pgs_tui.history.history import History
from pgs_tui.runs.follow import Update
from pgs_tui.waking import Waking

LONG_AGO = float("-inf")


class Watchman:
    """Give it every update with `take`, and `look` now and then; `notes` are for people."""

    def __init__(self, folder: str, waking: Waking, now: float, ring: Callable[[], None]) -> None:
        """`folder` is where the run is, as people name it; `now` when the person began to look, before which nothing
        wakes anybody; `ring` rings the bell.
        """
        self._folder = folder
        self.notes: list[str] = []
        self._rings = waking.rings
        self._ring = ring
        self._alarm = Alarm(now)
        self._command = OnCritical(waking.command, folder) if waking.command else None
        self._watch = ReaderWatch(now)
        self._has_looked = False

    def know(self, incidents: Iterable[Incident]) -> None:
        """Hear of what was critical before; it wakes nobody."""
        for one in incidents:
            if one.open:
                alert = Alert(id=one.id, state="open", code=one.code, severity=one.severity, meaning=one.meaning)
                self._hear(alert, LONG_AGO)

    def take(self, update: Update) -> None:
        """Hear of the alerts in an update."""
        for stamped in (*update.columns, *update.events):
            if isinstance(stamped, Stamped) and isinstance(stamped.event, Alert):
                self._hear(stamped.event, LONG_AGO if update.loading else stamped.t)

    def look(self, history: History, life: str, phase_since: float | None, now: float) -> bool:
        """Tell of silence and of an engine that is gone, as incidents of the history; hear of commands that failed.

        To be called once the past has been read. Returns whether there is something to show.
        """
        checkpoint = f"{self._folder}/{history.checkpoint.path}" if history.checkpoint is not None else None
        step, phase = history.recent[-1] if history.recent else None, history.phase
        alerts = self._watch.look(
            now,
            life if history.end is None else history.end.status,
            step[0] if step is not None else None,
            phase.name if phase is not None else None,
            history.seconds_per_step(),
            phase_t=phase_since,
            last_event_t=history.last_t,
            last_step=history.last_step,
            checkpoint=checkpoint,
        )
        for alert in alerts:
            if alert.code == "ENGINE_DEAD" and alert.state == "closed":  # from here on the log itself tells of it
                history.incidents.forget(alert.id)
                history.marks.forget(alert)
            else:
                history.incidents.take(alert, history.last_step, by_reader=True)
                history.marks.take_alert(alert)
            history.version += 1
            self._hear(alert, now if self._has_looked else LONG_AGO)
        self._has_looked = True
        self.notes += self._command.failures() if self._command is not None else ()
        return bool(alerts)

    def _hear(self, alert: Alert, t: float) -> None:
        if not self._alarm.is_due(alert, t):
            return
        if self._rings:
            self._ring()
        if self._command is not None and (why_not := self._command.start(alert)):
            self.notes.append(why_not)
