"""Detectors that only tell: fed with the events of a run, whoever reads them, they never skip a step."""

from __future__ import annotations

from collections.abc import Mapping

from engine.events.types import Alert, Scalar, Stamped


class RunWatch:
    """Takes the events of a run in the order of its log and returns the alerts that follow."""

    def __init__(self, settings: Mapping[str, Scalar], total_steps: int | None = None) -> None:
        """`settings` are the run's own, by key (`train.learning_rate`), as far as they are known."""
        self._settings = settings
        self._total_steps = total_steps

    def take(self, event: Stamped) -> tuple[Alert, ...]:
        """The alerts that open, go on or close with this event."""
        return ()
