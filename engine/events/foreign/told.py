"""What one look at the files of another tool brings."""

from __future__ import annotations

from dataclasses import dataclass

from engine.events.console import ConsoleStep


@dataclass(frozen=True, slots=True)
class StepsTold:
    """Steps in order, and remarks for people; `restarted` says that all before is void.

    `total` is how many steps there will be, `is_over` says that the training has told of its end.
    """

    told: tuple[ConsoleStep, ...] = ()
    notes: tuple[str, ...] = ()
    restarted: bool = False
    total: int | None = None
    is_over: bool = False


class NotReadableError(ValueError):
    """A file is not what its kind should be; the text says what is wrong, and where."""
