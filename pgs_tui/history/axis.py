"""Where the steps of a run stand on each of the x axes: by number, tokens, time or epoch."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import inf, isfinite
from typing import Literal, get_args

AxisName = Literal["step", "tokens", "time", "epoch"]
AXES: tuple[AxisName, ...] = get_args(AxisName)

LARGEST_STEP = 2**53
"""Steps and tokens of a step beyond it, or below its negative, are no numbers of a run, nor exact as float64."""
LARGEST_SHORT = 2**31 - 1
LAST_SECOND = 1e12
"""No clock shows more seconds since 1970, and none less than its negative: such a time is not used."""
LAST_EPOCH = 1e9
"""No run gets so far: such an epoch is not used."""

WallStretch = tuple[float, float]
"""From and until when, unix seconds."""


class Axes:
    """Parallel arrays, a place for each step, none of which ever descends.

    Tokens are those trained on up to a step, real ones. The time of a step is in seconds since training began; what
    lies between the last step of one process and the start of the next counts as nothing, nor does a pause. A number
    that would go back (a clock that was set, an epoch that is NaN) stands where the step before it does. All but the
    steps' numbers are float32, which is finer than any screen.
    """

    def __init__(self) -> None:
        self.generation = 0
        """Grows when steps are taken back."""
        self.steps = array("i")
        """Their numbers; 32 bits each until one needs more."""
        self._tokens = array("f")
        self._total_tokens = 0.0
        self._epochs = array("f")
        self._clock = _RunClock()

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def tokens(self) -> int:
        """All real tokens trained on."""
        return int(self._total_tokens)

    def positions(self, axis: AxisName) -> array[int] | array[float]:
        """Where each step stands on that axis."""
        match axis:
            case "step":
                return self.steps
            case "tokens":
                return self._tokens
            case "time":
                return self._clock.seconds
            case "epoch":
                return self._epochs

    def index_of(self, step: int) -> int | None:
        """The index of that very step."""
        place = bisect_left(self.steps, step)
        return place if place < len(self.steps) and self.steps[place] == step else None

    def index_near(self, position: float, axis: AxisName = "step") -> int | None:
        """The index of the step that stands nearest to a position, the earlier of two; None before the first step."""
        positions = self.positions(axis)
        if not positions:
            return None
        after = min(bisect_left(positions, position), len(positions) - 1)
        before = max(after - 1, 0)
        return before if position - positions[before] <= positions[after] - position else after

    def position_of(self, step: int, axis: AxisName = "step") -> float | None:
        """Where a step number stands: that of the newest step up to it, or of the first; None before the first step."""
        if not self.steps:
            return None
        if axis == "step":
            return float(max(min(step, self.steps[-1]), self.steps[0]))
        return float(self.positions(axis)[max(bisect_right(self.steps, step) - 1, 0)])

    def wall(self, index: int) -> float | None:
        """When the step at that index was told, unix seconds; None where its event had no usable time."""
        return self._clock.wall(index)

    def wall_stretches(self, begin: float, until: float) -> Iterator[WallStretch]:
        """When the seconds of training after `begin` up to `until` were by the wall clock, without gaps between."""
        return self._clock.stretches(begin, until)

    def append(self, step: int, tokens: float, t: float, epoch: float) -> None:
        """Add the next step; its number must be above that of the last."""
        assert not self.steps or step > self.steps[-1], "steps ascend"
        self._make_room_for(step)
        self.steps.append(step)
        self._total_tokens += max(tokens, 0.0)
        self._tokens.append(self._total_tokens)
        self._append_epoch(epoch)
        self._clock.append(t)

    def extend(self, steps: array[int], tokens: array[float], t: array[float], epochs: array[float]) -> None:
        """Add many steps, whose numbers ascend from above that of the last."""
        self._make_room_for(*steps[:1], *steps[-1:])
        self.steps.extend(array(self.steps.typecode, steps))
        grown = tokens if min(tokens, default=0.0) >= 0 else [max(one, 0.0) for one in tokens]
        totals = list(accumulate(grown, initial=self._total_tokens))
        self._total_tokens = totals[-1]
        self._tokens.extend(totals[1:])
        self._extend_epochs(epochs)
        self._clock.extend(t)

    def truncate(self, length: int, retold: bool = False) -> None:
        """Forget the steps from index `length` on. What comes next goes on from the one before.

        With `retold` the same steps are told once more, so the clock goes back with them.
        """
        self.generation += 1
        del self.steps[length:]
        del self._tokens[length:]
        self._total_tokens = self._tokens[-1] if self._tokens else 0.0
        del self._epochs[length:]
        self._clock.truncate(length, retold)

    def interrupt(self, t: float, since: float | None = None) -> None:
        """Training goes on at this time; what lies before it, since that time or the last step, counts as nothing."""
        self._clock.interrupt(t, since)

    def _make_room_for(self, *steps: int) -> None:
        if self.steps.typecode == "i" and any(abs(step) > LARGEST_SHORT for step in steps):
            self.steps = array("q", self.steps)

    def _extend_epochs(self, epochs: array[float]) -> None:
        rounded = array("f", epochs)
        flat = rounded.tolist()
        if flat and flat[0] >= (self._epochs[-1] if self._epochs else 0.0) and _is_ascending(flat, LAST_EPOCH):
            self._epochs.extend(rounded)
            return
        for epoch in epochs:
            self._append_epoch(epoch)

    def _append_epoch(self, epoch: float) -> None:
        before = self._epochs[-1] if self._epochs else 0.0
        self._epochs.append(epoch if before <= epoch <= LAST_EPOCH else before)


class _RunClock:
    """Seconds of training, from the times of the steps.

    The steps fall into stretches in which the clock was never set back nor the run interrupted; of each is kept the
    index of its first step, when it began by the wall clock, and how many seconds of training there had been.
    """

    def __init__(self) -> None:
        self.seconds = array("f")
        self._firsts, self._begins, self._bases = array("q"), array("d"), array("d")
        self._now: float | None = None
        """The newest usable time of a step or of an interruption."""

    def append(self, t: float) -> None:
        if not abs(t) <= LAST_SECOND:
            self.seconds.append(self.seconds[-1] if self.seconds else 0.0)
            return
        if self._now is None or t < self._now:
            self.interrupt(t)
        self._now = t
        self.seconds.append(self._bases[-1] + (t - self._begins[-1]))

    def extend(self, times: Sequence[float]) -> None:
        flat = list(times)
        if not flat:
            return
        if not _is_ascending(flat, LAST_SECOND):
            for t in flat:
                self.append(t)
            return
        self.append(flat[0])
        base, begin = self._bases[-1], self._begins[-1]
        self.seconds.extend([base + (t - begin) for t in flat[1:]])
        self._now = flat[-1]

    def interrupt(self, t: float, since: float | None = None) -> None:
        if not abs(t) <= LAST_SECOND:
            return
        base = self._at(since) if since is not None else self._newest()
        if self._firsts and self._firsts[-1] == len(self.seconds):
            self._drop_stretches(len(self._firsts) - 1)
        self._firsts.append(len(self.seconds))
        self._begins.append(t)
        self._bases.append(base)
        self._now = t

    def _newest(self) -> float:
        return self.seconds[-1] if self.seconds else 0.0

    def _at(self, t: float) -> float:
        """Seconds of training until a time after the last step."""
        if self._now is None or not self._now <= t <= LAST_SECOND:
            return self._newest()
        return self._bases[-1] + (t - self._begins[-1])

    def truncate(self, length: int, retold: bool) -> None:
        """Back to `length` steps; the clock stands where it stood last, or with `retold` where it stood then."""
        del self.seconds[length:]
        if retold:
            self._drop_stretches(bisect_right(self._firsts, length))
            is_begun = bool(self._firsts) and self._firsts[-1] == length
            self._now = self._begins[-1] if is_begun else self.wall(length - 1)
            return
        self._drop_stretches(bisect_left(self._firsts, length))
        if self._now is not None:
            self.interrupt(self._now)

    def wall(self, index: int) -> float | None:
        stretch = bisect_right(self._firsts, index) - 1
        return self._begins[stretch] + (self.seconds[index] - self._bases[stretch]) if stretch >= 0 else None

    def stretches(self, begin: float, until: float) -> Iterator[WallStretch]:
        place = max(bisect_right(self._bases, begin) - 1, 0)
        for stretch in range(place, len(self._firsts)):
            started, base = self._begins[stretch], self._bases[stretch]
            ends = self._bases[stretch + 1] if stretch + 1 < len(self._bases) else inf
            if base >= until:
                return
            yield started + (max(begin, base) - base), started + (min(until, ends) - base)

    def _drop_stretches(self, keep: int) -> None:
        del self._firsts[keep:]
        del self._begins[keep:]
        del self._bases[keep:]


def _is_ascending(numbers: list[float], largest: float) -> bool:
    """Whether all are finite, none above `largest` nor below its negative, and none below the one before it."""
    if not isfinite(sum(numbers)) or numbers != sorted(numbers):
        return False
    return not numbers or -largest <= numbers[0] <= numbers[-1] <= largest
