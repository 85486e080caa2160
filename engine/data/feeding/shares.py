"""How often the samples of each source come in an epoch."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from engine.data.sources.corpus import Span


@dataclass(frozen=True, slots=True)
class Share:
    """The samples `start` up to `stop` come from one source, each of them `weight` times an epoch."""

    start: int
    stop: int
    weight: float

    @property
    def is_steady(self) -> bool:
        """Whether every epoch draws the same samples."""
        return float(self.weight).is_integer()

    def count(self, epoch: int) -> int:
        """Samples that this epoch draws."""
        return self._drawn_before(epoch + 1) - self._drawn_before(epoch)

    def draw(self, epoch: int, seed: int) -> list[int]:
        """The samples of this epoch, those that come twice twice.

        A part of the samples is the next stretch of a circle in which they stand in an order drawn from the seed, so
        none comes twice within the part, and over the epochs each comes as often as any other.
        """
        size = self.stop - self.start
        whole_rounds, _ = divmod(self.count(epoch), size)
        every = list(range(self.start, self.stop))
        drawn = every * whole_rounds
        begin, end = self._drawn_before(epoch) + whole_rounds * size, self._drawn_before(epoch + 1)
        if begin < end:
            random.Random(f"{seed}:circle of {self.start}").shuffle(every)
            drawn += [every[place % size] for place in range(begin, end)]
        return drawn

    def _drawn_before(self, epoch: int) -> int:
        """Samples that all earlier epochs together draw; rounded up, so that the first epoch is never empty."""
        exact = Fraction(str(self.weight)) * (self.stop - self.start) * epoch
        return -(-exact.numerator // exact.denominator)


def shares_of(rows: Sequence[int], spans: Sequence[Span]) -> list[Share]:
    """The share of each span in samples of these rows, which rise; a span without any is left out."""
    shares = [Share(bisect_left(rows, span.start), bisect_left(rows, span.stop), span.spec.weight) for span in spans]
    return [share for share in shares if share.start < share.stop]
