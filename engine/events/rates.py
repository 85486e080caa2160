"""The tokens of a step's second, each kind by its own name, so that runs can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from engine.events.types import Step


@dataclass(frozen=True, slots=True)
class Rates:
    """Tokens a second: `padded` with the padding, `trained` those that have loss. `padding` is its share of the slots.

    A step's `tok_s` are the real tokens, without padding.
    """

    padded: float
    trained: float
    padding: float


def rates_of(step: Step) -> Rates | None:
    """None where the log does not tell them: that of another tool, or a step without loss tokens."""
    if step.loss_tokens <= 0 or not 0 < step.tokens <= step.slots or not step.dt > 0:
        return None
    return Rates(step.slots / step.dt, step.loss_tokens / step.dt, 1 - step.tokens / step.slots)
