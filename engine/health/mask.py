"""The share of tokens that have loss, against the run's usual: a mask that has gone wrong learns the wrong text."""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Collection
from typing import Any

from engine.health.finding import Finding
from engine.health.symptom import CAUSE, Facts, NewValue, Remedy, Settings, Symptom, Unchanged, times, to

EARLIER, RECENT = 300, 30
"""Steps that make the usual share, and those that are held against it."""
FIRST = 60
"""Earlier steps needed before anything is judged but a share of all."""
ALL = 0.999
ALL_STEPS = 20
"""Steps in a row in which all tokens have loss: no chat has that, whose headers have none."""
HIGHER, LOWER = 0.25, 1 / 3
"""A share above the usual by so much, or of so little of it ..."""
CERTAIN = 6.0
"""... and by so many standard errors."""
ACCEPTED_AFTER = 200
"""Steps after which another share becomes the usual one."""


MORE, FEWER = frozenset({"more"}), frozenset({"fewer"})


def _off(key: str, settings: Settings, facts: Facts) -> NewValue:
    return False if settings.get(key) is True else Unchanged.LEFT_OUT


SYMPTOMS = {
    "MASK_SHIFTED": Symptom(
        "warning",
        "{share} of the tokens have loss, usually {usual}: the mask, or the kind of the rows, is another one now",
        (
            Remedy("data.train_on_template_text", _off, "text that the template adds has no loss then", causes=MORE),
            Remedy("data.last_turn_only", _off, "every answer of a chat has loss then", causes=FEWER),
            Remedy("data.train_on_reasoning", to(True), "reasoning has loss then, as all of an answer", causes=FEWER),
            Remedy("data.max_seq_length", times(2.0), "answers behind the limit are cut off: double it", causes=FEWER),
            Remedy("data.on_bad_row", to("stop"), "rows that cannot be read end the run instead of being left out"),
        ),
        ending="the share is as before again, or usual by now",
        beyond="`pgs inspect --config CONFIG` shows rows with their masks",
    ),
}


class MaskDetector:
    """Watches how many of a step's tokens have loss, padding left out."""

    def __init__(self) -> None:
        self._earlier: deque[float] = deque(maxlen=EARLIER)
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._all_in_a_row = 0
        self._shifted_for = 0

    def check(self, loss_tokens: int, tokens: int) -> Finding | None:
        """Take in a step with loss; return what is wrong while it is. A log that counts no tokens says nothing."""
        if tokens <= 0 or loss_tokens <= 0:
            return None
        share = loss_tokens / tokens
        self._all_in_a_row = self._all_in_a_row + 1 if share >= ALL else 0
        if len(self._recent) == RECENT and (self._shifted_for == 0 or self._shifted_for > ACCEPTED_AFTER):
            self._earlier.append(self._recent[0])  # a shifted share is no part of what is usual
        self._recent.append(share)
        self._shifted_for = self._shifted_for + 1 if self._is_shifted() else 0
        if self._shifted_for or self._all_in_a_row >= ALL_STEPS:
            return self._finding()
        return None

    def state_dict(self) -> dict[str, Any]:
        return {
            "earlier": list(self._earlier),
            "recent": list(self._recent),
            "all_in_a_row": self._all_in_a_row,
            "shifted_for": self._shifted_for,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._earlier = deque(state["earlier"], maxlen=EARLIER)
        self._recent = deque(state["recent"], maxlen=RECENT)
        self._all_in_a_row = state["all_in_a_row"]
        self._shifted_for = state["shifted_for"]

    def _is_shifted(self) -> bool:
        if len(self._recent) < RECENT or len(self._earlier) < FIRST:
            return False
        level, usual = _mean(self._recent), _mean(self._earlier)
        if LOWER * usual < level < usual + HIGHER:
            return False
        deviation: float = statistics.pstdev(self._earlier, usual)
        return abs(level - usual) > CERTAIN * deviation / math.sqrt(RECENT)

    def _finding(self) -> Finding:
        level = _mean(self._recent)
        usual = _mean(self._earlier) if len(self._earlier) >= FIRST else None
        words = {"share": f"{level:.0%}", "usual": "less than all" if usual is None else f"{usual:.0%}"}
        (cause,) = MORE if usual is None or level > usual else FEWER
        return Finding(level, usual, words=words, facts={CAUSE: cause})


def _mean(shares: Collection[float]) -> float:
    """The mean, not the median: where half of the rows are short answers the median jumps between two levels."""
    return sum(shares) / len(shares)
