"""A measurement on this machine's GPU: how far it is, and for which values it was made."""

from __future__ import annotations

from collections.abc import Mapping

from pgs_tui.profiling.shapes import Measured, Measuring
from pgs_tui.serving.client import Answer


class Measurement:
    """`state` is the newest that the profiler told, None before the first measurement."""

    def __init__(self) -> None:
        self.state: Measuring | None = None
        self._asked_for: Mapping[str, object] = {}
        self._found: tuple[Mapping[str, object], Measured] | None = None

    @property
    def is_running(self) -> bool:
        """A measurement goes on."""
        return self.state is not None and self.state.state == "running"

    def begin(self, changes: Mapping[str, object]) -> None:
        """It was asked for, for a config with these changes."""
        self.state, self._asked_for = Measuring("running", "starting"), changes

    def end(self) -> None:
        """There is nobody left who could measure."""
        self.state = None

    def of(self, changes: Mapping[str, object]) -> Measured | None:
        """What was measured for a config with these changes."""
        return self._found[1] if self._found is not None and self._found[0] == changes else None

    def take(self, answer: Answer) -> str:
        """Take in how far it is; returns what to tell the person, if anything."""
        if answer.error:
            self.state = None
            return answer.error
        if not self.is_running:
            return ""
        told: Measuring = answer.result
        self.state = told
        if told.state == "failed":
            return told.error or "the measurement failed"
        if told.state == "done" and told.result is not None:
            self._found = self._asked_for, told.result
        return "the measurement was stopped" if told.state == "idle" else ""
