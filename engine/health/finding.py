"""What a detector sees, for as long as it sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.events.types import Scalar


@dataclass(frozen=True, slots=True)
class Finding:
    """The numbers of an alert, the words that fill in its meaning, and the facts that its advice needs.

    `measured` names the field of a step that value and baseline belong to. `is_one_more` says that this step is one
    more of its kind, which counts and is told; else the incident only goes on.
    """

    value: float | None = None
    baseline: float | None = None
    measured: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    is_one_more: bool = False
