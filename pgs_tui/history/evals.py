"""The evaluations of a run."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from math import isfinite

from engine.events import Eval
from pgs_tui.history.axis import LARGEST_STEP

MOST_NAMES = 64


class Evals:
    """Every evaluation, by the name of its data and then by step; measured again at a step, it is replaced."""

    def __init__(self) -> None:
        self.newest: Eval | None = None
        """The one that came last."""
        self.best: Eval | None = None
        """The newest one of which its event said that none was lower before."""
        self._by_name: dict[str, _Curve] = {}

    def __len__(self) -> int:
        return sum(len(curve.steps) for curve in self._by_name.values())

    def __bool__(self) -> bool:
        return self.newest is not None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the data that was evaluated, in the order in which they came."""
        return tuple(self._by_name)

    def values(self) -> Iterator[Eval]:
        """All of them, name by name."""
        for name, curve in self._by_name.items():
            for place in range(len(curve.steps)):
                yield curve.eval(name, place)

    def take(self, event: Eval) -> bool:
        """Take in an evaluation; returns whether there is room for its name."""
        if event.name not in self._by_name and len(self._by_name) == MOST_NAMES:
            return False
        self._by_name.setdefault(event.name, _Curve()).put(event)
        self.newest = event
        if event.best:
            self.best = event
        return True

    def at(self, step: int) -> tuple[Eval, ...]:
        """Those after that very step."""
        found = ((name, curve, curve.place(step)) for name, curve in self._by_name.items())
        return tuple(curve.eval(name, place) for name, curve, place in found if place is not None)

    def losses(self, first: int, last: int) -> Iterator[tuple[int, float]]:
        """Step and loss of those after the steps from `first` to `last`, name by name."""
        for curve in self._by_name.values():
            start, end = bisect_left(curve.steps, first), bisect_right(curve.steps, last)
            yield from zip(curve.steps[start:end], curve.losses[start:end], strict=True)

    def rewind(self, from_step: int) -> None:
        """Forget those after later steps. The best is then the lowest of the rest."""
        for name in list(self._by_name):
            self._by_name[name].rewind(from_step)
            if not self._by_name[name].steps:
                del self._by_name[name]
        if self.newest is not None and self.newest.step > from_step:
            self.newest = max(self.values(), key=lambda event: event.step, default=None)
        if self.best is not None and self.best.step > from_step:
            finite = (event for event in self.values() if isfinite(event.loss))
            self.best = min(finite, key=lambda event: event.loss, default=None)


class _Curve:
    """The evaluations on one set of data."""

    def __init__(self) -> None:
        self.steps = array("q")
        self.losses = array("d")
        self._tokens = array("d")
        self._best = bytearray()

    def put(self, event: Eval) -> None:
        place = bisect_left(self.steps, event.step)
        if place == len(self.steps) or self.steps[place] != event.step:
            self.steps.insert(place, event.step)
            self.losses.insert(place, event.loss)
            self._tokens.insert(place, 0.0)
            self._best.insert(place, False)
        self.losses[place], self._best[place] = event.loss, event.best
        self._tokens[place] = min(max(event.tokens, 0), LARGEST_STEP)

    def place(self, step: int) -> int | None:
        place = bisect_left(self.steps, step)
        return place if place < len(self.steps) and self.steps[place] == step else None

    def eval(self, name: str, place: int) -> Eval:
        return Eval(
            step=self.steps[place],
            loss=self.losses[place],
            name=name,
            tokens=int(self._tokens[place]),
            best=bool(self._best[place]),
        )

    def rewind(self, from_step: int) -> None:
        keep = bisect_right(self.steps, from_step)
        del self.steps[keep:], self.losses[keep:], self._tokens[keep:], self._best[keep:]
