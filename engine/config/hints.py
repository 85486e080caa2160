"""What a refused value would have done and what was probably meant, for keys whose range alone explains too little."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from engine.config.wording import short_number


@dataclass(frozen=True, slots=True)
class Hint:
    """Additions to a message: a reason behind the range, a likely value, an advice."""

    reason: str | None = None
    nearest: str | None = None
    advice: str | None = None


def hint_for(key: str, value: object) -> Hint:
    """What there is to say about a refused value of a key; often nothing."""
    explain = _HINTS.get(key)
    if explain is None or isinstance(value, str) or not isinstance(value, int | float):
        return Hint()
    return explain(value)


def _clip_limit(value: float) -> Hint:
    advice = "write 1.0, or null for no clipping"
    if isinstance(value, bool):
        return Hint(advice=advice)
    if math.isnan(value):
        return Hint("every weight would become NaN", advice=advice)
    if value == 0:
        return Hint("a limit of 0 scales every gradient to nothing, so no weight would move", advice=advice)
    return Hint("a negative limit turns every gradient around, so the loss would rise", advice=advice)


def _share(value: float) -> Hint:
    """A share written in percent."""
    if isinstance(value, bool) or not 1 < value <= 100:
        return Hint()
    return Hint("a share of the whole, not percent", nearest=short_number(value / 100))


def _warmup_share(value: float) -> Hint:
    if isinstance(value, bool) or value <= 1:
        return Hint()
    advice = f"for a number of steps write warmup_steps: {value:g}" if float(value).is_integer() else None
    hint = _share(value)
    return Hint(hint.reason or "a share of all steps", hint.nearest, advice)


def _learning_rate(value: float) -> Hint:
    if isinstance(value, bool) or not math.isfinite(value) or value <= 1:
        return Hint()
    text = short_number(value)
    return Hint("the weights would blow up at the first step", nearest=text.replace("e", "e-") if "e" in text else None)


_HINTS: dict[str, Callable[[float], Hint]] = {
    "train.max_grad_norm": _clip_limit,
    "train.warmup_ratio": _warmup_share,
    "data.eval_split": _share,
    "train.wsd_decay_ratio": _share,
    "train.learning_rate": _learning_rate,
}
