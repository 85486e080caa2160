"""How the metrics of a step are written, and what is usual for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pgs_tui.format import gib, percent, seconds, value
from pgs_tui.history.at_step import Usual

SMALLEST = 1e-12


@dataclass(frozen=True, slots=True)
class Wording:
    """`name` is that of the metric; `words` writes a value of it, `spread` a deviation, with fewer digits."""

    name: str
    words: Callable[[float | None], str]
    spread: Callable[[float | None], str]

    def usual(self, usual: Usual) -> str:
        """`1.700 ± 0.08`; without the deviation where it is not known, or too small to be written."""
        level = self.words(usual.level)
        if usual.spread is None or usual.spread <= SMALLEST:
            return level
        spread = self.spread(usual.spread)
        return level if spread == self.spread(0.0) else f"{level} ± {spread}"


def _norm(number: float | None) -> str:
    return value(number, 3)


def _deviation(number: float | None) -> str:
    """Two digits that matter."""
    if number is None or not number:
        return value(number, 2)
    size = abs(number)
    if size >= 10:
        return value(number, 2) if size < 100 else value(number, 3)
    return f"{number:#.2g}" if size >= 1e-3 else value(number, 3)


def _gib(number: float | None) -> str:
    return f"{gib(number)} GiB" if number is not None else gib(None)


WORDINGS: dict[str, Wording] = {
    "loss": Wording("loss", value, _deviation),
    "grad_norm": Wording("grad norm", _norm, _deviation),
    "dt": Wording("dt", seconds, seconds),
    "tok_s": Wording("tok/s", value, _deviation),
    "lr": Wording("lr", _norm, _deviation),
    "moved": Wording("moved", percent, percent),
    "hidden_norm": Wording("hidden grad", _norm, _deviation),
    "mem.peak": Wording("peak", _gib, _gib),
}
"""By the field of a step."""
