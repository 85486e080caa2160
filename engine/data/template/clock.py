"""The date as chat templates see it."""

from __future__ import annotations

from datetime import datetime


class Clock:
    """Stands still from its making on, so that all rows of a run get the same date; knows whether it was asked."""

    def __init__(self) -> None:
        self._now = datetime.now()
        self.was_asked = False

    def strftime(self, pattern: str) -> str:
        """The date, under the name `strftime_now` in templates."""
        self.was_asked = True
        return self._now.strftime(pattern)
