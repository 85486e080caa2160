"""What a layer holds as a function of lines and tokens, from recordings of small batches.

Each tensor of a layer has so many bytes, so many for each line, for each token and, where all scores of attention are
held, for each pair of tokens of a line. Which of them are there together does not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from engine.memory.estimate.layers.lives import Lives, as_compiled, as_it_ran
from engine.memory.estimate.layers.tape import Recording

Record = Callable[[int, int], Recording]
"""Records a layer on a batch of so many lines of so many tokens."""
STEP = 128
"""Tokens at which everything that goes by chunks of tokens comes out even."""
_FEW, _MORE = 2, 3
"""Lines; one alone would let tensors count as contiguous that are none in a batch."""


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of one pass of a layer, its input counted nowhere unless it is kept."""

    kept: int
    forward: int
    backward: int
    gradients: int


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of a tensor."""

    fixed: float
    line: float
    token: float
    pair: float

    def at(self, lines: int, length: int) -> float:
        """Of a batch [lines, length]."""
        return self.fixed + lines * (self.line + length * (self.token + length * self.pair))


@dataclass(frozen=True, slots=True)
class Sizes:
    """A layer's tensors, with their sizes and with when they are there."""

    sizes: tuple[Size, ...]
    """By the number of a storage."""
    lives: Lives
    input: int
    output: int
    """Numbers of storages."""
    gradients: int
    """Bytes of the gradients of its weights."""

    def input_bytes(self, lines: int, length: int) -> int:
        """Of the layer's input, or output, with such a batch."""
        return round(self.sizes[self.input].at(lines, length))

    def held(self, lines: int, length: int) -> Held:
        """What the layer holds with a batch [lines, length]."""
        nbytes = [size.at(lines, length) for size in self.sizes]
        changes, boundary = [0.0] * (self.lives.end + 1), self.lives.boundary
        kept = 0.0
        for life in self.lives.lives:
            changes[life.born] += nbytes[life.storage]
            changes[life.last + 1] -= nbytes[life.storage]
            if life.born < boundary <= life.last:
                kept += nbytes[life.storage]
        there = list(accumulate(changes))
        its_input = nbytes[self.input]
        return Held(
            kept=round(kept - its_input),
            forward=round(max(kept + nbytes[self.output], *there[:boundary]) - its_input),
            backward=round(max(there[boundary:]) - kept),
            gradients=self.gradients,
        )


class HoldsByBatch(Protocol):
    """What a layer holds, by its batch."""

    def held(self, lines: int, length: int) -> Held: ...
    def input_bytes(self, lines: int, length: int) -> int: ...


class SizesOfBatches:
    """For layers that run other operations for longer lines: a recording for each batch that is asked for."""

    def __init__(self, record: Record, gradients: int, *, compiles: bool) -> None:
        self._record, self._gradients, self._compiles = record, gradients, compiles
        self._known: dict[tuple[int, int], Sizes] = {}

    def held(self, lines: int, length: int) -> Held:
        """What the layer holds with a batch [lines, length]."""
        return self._of(lines, length).held(lines, length)

    def input_bytes(self, lines: int, length: int) -> int:
        """Of the layer's input, or output, with such a batch."""
        return self._of(lines, length).input_bytes(lines, length)

    def _of(self, lines: int, length: int) -> Sizes:
        if (lines, length) not in self._known:
            recording = self._record(lines, length)
            sizes = [Size(storage.nbytes, 0, 0, 0) for storage in recording.storages]
            self._known[lines, length] = _sizes(sizes, recording, self._gradients, compiles=self._compiles)
        return self._known[lines, length]


def sizes_of(record: Record, gradients: int, *, compiles: bool) -> Generator[None, None, HoldsByBatch]:
    """The sizes of a layer's tensors; `gradients` are the bytes of its weights' gradients.

    Four recordings tell them for all batches, unless they differ in more than sizes. There is a pause behind each.
    """
    recordings = []
    for batch in ((_FEW, STEP), (_FEW, 2 * STEP), (_FEW, 3 * STEP), (_MORE, STEP)):
        recordings.append(record(*batch))
        yield
    first = recordings[0]
    if any(other.form() != first.form() for other in recordings[1:]):
        return SizesOfBatches(record, gradients, compiles=compiles)
    sizes = [
        _solved([recording.storages[number].nbytes for recording in recordings])
        for number in range(len(first.storages))
    ]
    return _sizes(sizes, first, gradients, compiles=compiles)


def _sizes(sizes: Sequence[Size], recording: Recording, gradients: int, *, compiles: bool) -> Sizes:
    lives = as_compiled(recording) if compiles else as_it_ran(recording)
    return Sizes(tuple(sizes), lives, recording.input, recording.output, gradients)


def _solved(nbytes: Sequence[int]) -> Size:
    """The size that gives these bytes at (2, 128), (2, 256), (2, 384), (3, 128): exact, all being binary fractions."""
    once, twice, thrice, more_lines = nbytes
    pair = (thrice - 2 * twice + once) / (2 * _FEW * STEP**2)
    token = (twice - once) / (_FEW * STEP) - 3 * STEP * pair
    of_line = more_lines - once
    line = of_line - STEP * token - STEP**2 * pair
    return Size(once - _FEW * of_line, line, token, pair)
