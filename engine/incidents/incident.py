"""An incident as it stands at a moment, and a step that it touched."""

from __future__ import annotations

from dataclasses import dataclass

from engine.events.types import Advice, Severity

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error", "critical")


@dataclass(frozen=True, slots=True)
class Touch:
    """A step that an incident touched: what was measured there, and the rows of its batch where they are known."""

    step: int
    value: float | None
    baseline: float | None
    spread: float | None
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident. Its step, value, baseline, spread and rows belong together: those of the first step it touched.

    Everything else is as its newest event left it. `last_step` is the newest step that it touched.
    """

    id: str
    code: str
    severity: Severity
    meaning: str
    open: bool
    step: int | None = None
    metric: str | None = None
    value: float | None = None
    baseline: float | None = None
    spread: float | None = None
    count: int = 1
    advice: tuple[Advice, ...] = ()
    rows: tuple[int, ...] = ()
    last_step: int | None = None

    @property
    def title(self) -> str:
        """The code as words: `LOSS_SPIKE` reads as `loss spike`."""
        return self.code.replace("_", " ").lower()

    @property
    def gravity(self) -> int:
        """Greater for what matters more."""
        return SEVERITIES.index(self.severity) if self.severity in SEVERITIES else 0
