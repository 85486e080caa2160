"""A gradient norm in the log of another tool that never changes: it was taken after clipping, and hides explosions."""

from __future__ import annotations

import math
from collections import deque

from engine.health.symptom import Symptom

STEPS = 20
"""So many equal norms in a row are no chance."""
TOLERANCE = 1e-3
"""Norms that differ by no more than this share are equal: logs round them."""
FAR_APART = 2 * TOLERANCE
"""Of the larger one: no rounding makes two norms that far apart equal by the tolerance."""

SYMPTOMS = {
    "NORM_LOOKS_CLIPPED": Symptom(
        "info",
        "the gradient norm was {value} in {steps} steps in a row: it looks as if it were taken after clipping, so an "
        "explosion cannot be seen in it",
        ending="it varies again",
        beyond="log the norm before clipping, which clip_grad_norm_ returns",
    ),
}


class ClippedNormDetector:
    """Watches the norms of a log in the order of its steps."""

    def __init__(self) -> None:
        self._norms: deque[float] = deque(maxlen=STEPS)

    def check(self, grad_norm: float | None) -> float | None:
        """Take in a norm; returns the one at which they all stand, if they do."""
        if grad_norm is not None:
            self._norms.append(grad_norm)
        if len(self._norms) < STEPS or self._has_changed() or not all(map(math.isfinite, self._norms)):
            return None
        lowest, highest = min(self._norms), max(self._norms)
        return self._norms[-1] if lowest > 0 and highest - lowest <= TOLERANCE * highest else None

    def _has_changed(self) -> bool:
        """Whether the oldest and the newest norm alone are too far apart: then the others need no look."""
        oldest, newest = self._norms[0], self._norms[-1]
        return abs(newest - oldest) > FAR_APART * max(oldest, newest)
