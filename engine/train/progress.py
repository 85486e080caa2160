"""How far training is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Progress:
    """Steps and tokens that are done, and the best evaluation so far; saved with every checkpoint."""

    step: int = 0
    tokens: int = 0
    best_eval: float | None = None
    best_step: int | None = None
    lr_scale: float = 1.0
    """What people have multiplied the schedule's learning rate by."""
