"""What the inspect screen looks at first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Opening:
    """One row, the rows of a step (of a finding about the data where no step is named), or a step's recorded batch."""

    row: int | None = None
    rows: tuple[int, ...] = ()
    spike: int | None = None
    step: int | None = None

    @property
    def heading(self) -> str:
        """What the rows of the list are."""
        if self.spike is not None:
            return f"rows of step {self.spike}, worst first"
        if not self.rows:
            return "rows"
        return "rows of the alert" if self.step is None else f"rows of step {self.step}"
