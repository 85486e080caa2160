"""What the inspect screen looks at first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Opening:
    """One row, the rows of an alert, or the recorded batch of a step."""

    row: int | None = None
    rows: tuple[int, ...] = ()
    spike: int | None = None

    @property
    def heading(self) -> str:
        """What the rows of the list are."""
        if self.spike is not None:
            return f"rows of step {self.spike}, worst first"
        return "rows of the alert" if self.rows else "rows"
