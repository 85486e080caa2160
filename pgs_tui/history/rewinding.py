"""What a resume from an earlier checkpoint makes obsolete."""

from __future__ import annotations

from array import array
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Superseded:
    """Steps that a resume from an earlier checkpoint replaced: kept, but no part of any curve."""

    resumed_from: int
    steps: array[int]
    values: dict[str, array[float]]
