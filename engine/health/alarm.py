"""Which alerts wake somebody up: each incident once, when it opens as critical or becomes so."""

from __future__ import annotations

from engine.events.types import Alert


class Alarm:
    """Only what happens after `since` (unix seconds) counts: nobody is woken for the past of a run."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._critical: set[str] = set()

    def is_due(self, alert: Alert, t: float) -> bool:
        """Take in an alert of the moment `t`, and return whether it is a reason to wake somebody up."""
        if alert.state == "closed" or alert.severity != "critical":
            self._critical.discard(alert.id)  # the same id may open again after a resume
            return False
        was_known = alert.id in self._critical
        self._critical.add(alert.id)
        return not was_known and t >= self._since
