"""The date as chat templates see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime


class Clock:
    """Stands still from its making on, so that all rows of a run get the same date; knows whether it was asked."""

    def __init__(self) -> None:
        self._stands_at: datetime | None = datetime.now()
        self.was_asked = False

    def strftime(self, pattern: str) -> str:
        """The date, under the name `strftime_now` in templates."""
        self.was_asked = True
        return (self._stands_at or datetime.now()).strftime(pattern)

    @contextmanager
    def going(self) -> Iterator[None]:
        """Within, it tells the real time."""
        stands_at, self._stands_at = self._stands_at, None
        try:
            yield
        finally:
            self._stands_at = stands_at
