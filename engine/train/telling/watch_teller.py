"""Feeds what a run tells to the detectors that only tell, and tells of what they find."""

from __future__ import annotations

import time
import traceback

from engine.events import Alert, Event, Resume, Stamped, Start, Step
from engine.health import RunWatch
from engine.health.watch import judging_all
from engine.session.session import Session


class WatchTeller:
    """A follower of the session: it gets each event behind its line in the log, and the monitor's before each step.

    A detector that fails ends the watch with an alert, never the training.
    """

    def __init__(self, session: Session, watch: RunWatch) -> None:
        self._session = session
        self._watch: RunWatch | None = watch

    def __call__(self, event: Event) -> None:
        """Take an event and tell of what follows from it."""
        if self._watch is None or isinstance(event, Alert | Resume):  # windows come back from the checkpoint instead
            return
        try:
            if isinstance(event, Step) and self._session.readings is not None:
                for reading in self._session.readings.taken():
                    self._tell(self._watch.take(reading))
            taken = judging_all(event) if isinstance(event, Start) else event
            self._tell(self._watch.take(Stamped(time.time(), taken)))
        except Exception as error:
            self._watch = None
            self._session.console.log_only(traceback.format_exc())
            text = f"The watch over the steps failed: {type(error).__name__}: {error}. The training is not affected."
            self._session.emit(
                Alert(id="watch-failed", state="open", code="MONITOR_FAILED", severity="warning", meaning=text)
            )

    def _tell(self, alerts: tuple[Alert, ...]) -> None:
        for alert in alerts:
            self._session.emit(alert)
