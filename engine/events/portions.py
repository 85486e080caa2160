"""Complete lines of a log to its events in order: steps and GPU readings as columns, everything else one by one."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from math import nan
from operator import attrgetter

from engine.events.columns import STEP_VALUES, Block, Portion, StepColumns
from engine.events.decoding import Decoding
from engine.events.line_columns import MatchedLines
from engine.events.types import Gpu, Host, Step

EXACT = 2**53
"""Whole numbers up to here are exact as floats."""

OddStep = tuple[int, float, Step]
"""A step that was decoded, with its line's offset and its time."""


def portion_of(data: bytes, begin: int = 0) -> Portion:
    """The events of complete lines, `data`, that begin at the byte `begin` of their log.

    The same events as `decode` gives line by line, whatever the lines are.
    """
    assert not data or data.endswith(b"\n"), "the last line is not complete"
    decoding = Decoding()
    blocks = tuple(_Ordering(MatchedLines(data, begin), decoding).blocks())
    return Portion(begin, begin + len(data), blocks, decoding.bad_lines, tuple(decoding.notes))


def columns_of(steps: Sequence[OddStep]) -> StepColumns:
    """Decoded steps as columns. Their whole numbers must fit (`fits_columns`)."""
    values, nan_at = {}, {}
    for name in STEP_VALUES:
        measured = [attrgetter(name)(step) for _, _, step in steps]
        values[name] = array("d", [nan if value is None else value for value in measured])
        if places := [place for place, value in enumerate(measured) if value is not None and value != value]:
            nan_at[name] = array("q", places)
    numbers = array("q", [step.step for _, _, step in steps])
    times = array("d", [t for _, t, _ in steps])
    return StepColumns(numbers, times, array("q", [offset for offset, _, _ in steps]), values, nan_at)


def fits_columns(step: Step) -> bool:
    """Whether columns hold this step: one of rank 0, with whole numbers that a float holds exactly."""
    return step.rank == 0 and all(abs(whole) <= EXACT for whole in (step.step, step.tokens, step.slots))


class _Ordering:
    """Puts matched and odd lines back in order; `_place` and `_steps` say how far matches and steps have been given."""

    def __init__(self, matched: MatchedLines, decoding: Decoding) -> None:
        self._matched = matched
        self._decoding = decoding
        self._columns = matched.steps()
        self._steps = 0
        self._machines_from = 0
        self._odd_steps: list[OddStep] = []

    def blocks(self) -> Iterator[Block]:
        for odd in self._matched.odd:
            stamped = self._decoding.event(odd.line)
            if stamped is None:
                continue
            yield from self._steps_before(odd.place)
            if isinstance(stamped.event, Step) and fits_columns(stamped.event):
                self._odd_steps.append((odd.offset, stamped.t, stamped.event))
                continue
            yield from self._flushed()
            if isinstance(stamped.event, Gpu | Host):
                for _, block in self._machines_before(odd.place):
                    yield block
            yield stamped
        yield from self._last_ones()

    def _last_ones(self) -> Iterator[Block]:
        """What is left; the readings of machines so that the newest event of all comes last."""
        end = len(self._matched)
        left = [*self._steps_before(end), *self._flushed()]
        offset = left[-1].offset[-1] if left else -1
        machines = sorted(self._machines_before(end), key=lambda one: one[0])
        yield from (block for last, block in machines if last < offset)
        yield from left
        yield from (block for last, block in machines if last > offset)

    def _steps_before(self, place: int) -> Iterator[StepColumns]:
        upto = self._matched.steps_before[place]
        if upto > self._steps:
            yield from self._flushed()
            yield from self._columns.part(self._steps, upto).ascending()
            self._steps = upto

    def _flushed(self) -> Iterator[StepColumns]:
        """The odd steps that wait for others to share columns with."""
        if self._odd_steps:
            yield from columns_of(self._odd_steps).ascending()
            self._odd_steps = []

    def _machines_before(self, place: int) -> Iterator[tuple[int, Block]]:
        """Readings of GPUs, and the host's newest, each with the offset of its last line."""
        start, self._machines_from = self._machines_from, place
        if self._matched.gpus_before[place] > self._matched.gpus_before[start]:
            gpus = self._matched.gpus(start, place)
            yield gpus.offset[-1], gpus
        if host := self._matched.newest_host(start, place):
            yield host
