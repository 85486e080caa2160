"""The lines of a log that match a frequent kind's exact pattern, as columns; all others stay lines."""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from math import inf, nan
from operator import add

from engine.events.codec import decode
from engine.events.columns import GPU_VALUES, STEP_VALUES, GpuColumns, StepColumns
from engine.events.line_patterns import head_of, pattern_of
from engine.events.types import Gpu, Host, Stamped, Step

_NAMED = {b'"NaN"': nan, b'"Infinity"': inf, b'"-Infinity"': -inf, b"false": 0.0, b"true": 1.0}
_MISSING = (b"null", None)

Text = bytes | None
"""What stands in a line for a field; None for a field that it lacks, or that its kind has not."""


@dataclass(frozen=True, slots=True)
class OddLine:
    """A line that matches no pattern: it stands before the match at `place`, from the byte `offset` on."""

    place: int
    offset: int
    line: bytes


@dataclass(frozen=True, slots=True)
class _Groups:
    """One pattern for the lines of all frequent kinds, and the places of its groups by field; the first is the time."""

    pattern: re.Pattern[bytes]
    steps: dict[str, int]
    gpus: dict[str, int]
    host: int


@functools.cache
def _groups() -> _Groups:
    step, step_names = pattern_of(Step, {"step", *STEP_VALUES}, {"rank": "0"})
    gpu, gpu_names = pattern_of(Gpu, {"index", "throttle", *GPU_VALUES})
    host, _ = pattern_of(Host, ())
    kinds = rf'(?:"{Step.kind}"{step}|"{Gpu.kind}"{gpu}|("{Host.kind}"){host})'
    steps = {name: group for group, name in enumerate(step_names, 1)}
    gpus = {name: group for group, name in enumerate(gpu_names, 1 + len(steps))}
    return _Groups(re.compile((head_of(kinds) + "\n").encode()), steps, gpus, 1 + len(steps) + len(gpus))


class MatchedLines:
    """Complete lines, `data`, that begin at the byte `begin` of their log.

    A match is a line of a frequent kind. Places count matches, of which there are `len`.
    """

    def __init__(self, data: bytes, begin: int) -> None:
        self._groups = _groups()
        self._lines = data.split(b"\n")
        width = self._groups.pattern.groups + 1
        parts: list[Text] = list(self._groups.pattern.split(data))
        if any(text and not text.endswith(b"\n") for text in parts[::width]):  # a match that began amid a line
            parts = [data]
        self._columns = [parts[group::width] for group in range(1, width)]
        ends = accumulate(map(len, self._lines), initial=begin)
        starts = list(map(add, ends, range(len(self._lines))))  # a newline of one byte stands before each
        self.odd, self._line_at = self._sorted_out(parts[::width], starts)
        self._offsets = list(map(starts.__getitem__, self._line_at))
        self._is_step = self._columns[self._groups.steps["step"]]
        self._is_gpu = self._columns[self._groups.gpus["index"]]
        self._is_host = self._columns[self._groups.host]
        self.steps_before = list(accumulate(map(bool, self._is_step), initial=0))
        """How many steps stand before each place."""
        self.gpus_before = list(accumulate(map(bool, self._is_gpu), initial=0))

    def __len__(self) -> int:
        return len(self._line_at)

    def steps(self) -> StepColumns:
        """All matched steps, in the order of the log."""
        texts = {name: self._texts(group, self._is_step) for name, group in self._groups.steps.items()}
        values, nan_at = {}, {}
        for name in STEP_VALUES:
            values[name], places = _numbers(texts[name])
            if places:
                nan_at[name] = places
        step, times = _whole_numbers(texts["step"]), _numbers(self._texts(0, self._is_step))[0]
        return StepColumns(step, times, array("q", compress(self._offsets, self._is_step)), values, nan_at)

    def gpus(self, start: int, end: int) -> GpuColumns:
        """The matched readings of GPUs at the places from `start` to `end - 1`."""
        chosen = [text and start <= place < end for place, text in enumerate(self._is_gpu)]
        texts = {name: self._texts(group, chosen) for name, group in self._groups.gpus.items()}
        return GpuColumns(
            t=_numbers(self._texts(0, chosen))[0],
            index=_whole_numbers(texts["index"]),
            offset=array("q", compress(self._offsets, chosen)),
            values={name: _numbers(texts[name])[0] for name in GPU_VALUES},
            throttled=array("b", [text not in (b"[]", None) for text in texts["throttle"]]),
            newest=self._newest_gpus(start, end),
        )

    def newest_host(self, start: int, end: int) -> tuple[int, Stamped] | None:
        """The last matched reading of the host at these places, with its line's offset."""
        place = next((place for place in range(end - 1, start - 1, -1) if self._is_host[place]), None)
        return None if place is None else (self._offsets[place], self._decoded(place))

    def _newest_gpus(self, start: int, end: int) -> dict[int, Gpu]:
        last = {text: place for place, text in enumerate(self._is_gpu[start:end], start) if text}
        events = [self._decoded(place).event for place in last.values()]
        return {event.index: event for event in events if isinstance(event, Gpu)}

    def _decoded(self, place: int) -> Stamped:
        stamped = decode(self._lines[self._line_at[place]])
        assert stamped is not None, "a line that matched is of a known kind"
        return stamped

    def _texts(self, group: int, chosen: Sequence[object]) -> list[Text]:
        return list(compress(self._columns[group], chosen))

    def _sorted_out(self, between: list[Text], starts: list[int]) -> tuple[list[OddLine], list[int]]:
        """The odd lines, and the number of the line of each match. `between` is the text before each match."""
        odd: list[OddLine] = []
        line_at: list[int] = []
        for place in [place for place, text in enumerate(between) if text]:
            line = place + len(odd)
            line_at += range(len(line_at) + len(odd), line)
            count = (between[place] or b"").count(b"\n")
            odd += [OddLine(place, starts[one], self._lines[one]) for one in range(line, line + count)]
        line_at += range(len(line_at) + len(odd), len(between) - 1 + len(odd))
        return odd, line_at


def _whole_numbers(texts: Sequence[Text]) -> array[int]:
    return array("q", map(int, filter(None, texts)))


def _numbers(texts: Sequence[Text]) -> tuple[array[float], array[int]]:
    """The numbers, NaN for a missing one, and the places of those that are NaN themselves."""
    if texts and texts[0] == texts[-1] and texts.count(texts[0]) == len(texts):
        value = _number(texts[0])
        all_nan = value != value and texts[0] not in _MISSING
        return array("d", [value]) * len(texts), array("q", range(len(texts)) if all_nan else ())
    try:
        return array("d", map(float, texts)), array("q")  # type: ignore[arg-type]
    except (TypeError, ValueError):  # not all of them are numbers
        nan_at = array("q", [place for place, text in enumerate(texts) if text == b'"NaN"'])
        return array("d", map(_number, texts)), nan_at


def _number(text: Text) -> float:
    if text is None or text == b"null":
        return nan
    return _NAMED[text] if text in _NAMED else float(text)
