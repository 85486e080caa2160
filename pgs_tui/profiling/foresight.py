"""What the next key press may ask: asked beforehand, while the profiler has nothing else to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pgs_tui.profiling.what_if import WhatIf

Question = Mapping[str, Any]
KEPT = 200


class Foresight:
    """Which layers are recomputed, trained or compiled takes the profiler some tenths of a second when it is asked for
    the first time; then the bars would not follow at once."""

    def __init__(self) -> None:
        self.is_busy = False
        """A question is on its way."""
        self._asked: list[Question] = []

    def forget(self) -> None:
        """The profiler that was asked is gone, with all that it knew."""
        self.is_busy = False
        self._asked.clear()

    def next(self, what_if: WhatIf, question: Question, key: str) -> Question | None:
        """What to ask next: where the arrow keys lead from here, those of `key` first; None when all of it is known."""
        found = next((one for one in _neighbours(what_if, question, key) if one not in self._asked), None)
        if found is not None:
            self.is_busy = True
            self._asked = [*self._asked[1 - KEPT :], found]
        return found


def _neighbours(what_if: WhatIf, question: Question, key: str) -> Iterator[Question]:
    words = [name for name, kind in what_if.opened.kinds.items() if kind.choices]
    for name in sorted(words, key=lambda one: one != key):
        for direction in (1, -1):
            value = what_if.opened.kinds[name].after(what_if.value(name), direction)
            yield {**question, "overrides": {**question["overrides"], name: value}}
