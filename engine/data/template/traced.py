"""A string that knows where each of its characters comes from.

A chat template is rendered with these in place of the data's strings. Whatever the template does to them (slicing,
stripping, splitting, joining), the result still tells the characters of each turn from the template's own text.
Origins are kept as runs, not per character, so that a long text costs no more than a short one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, SupportsIndex

ROLE = "role"
_MANY_RUNS = 16  # from here on a search for the first run pays


@dataclass(frozen=True, slots=True)
class Origin:
    """One string of the data: the turn it stands in and its path there.

    `turn` counts from 0; it is None for a tool that the row offers.
    """

    turn: int | None
    field: str


class Run(NamedTuple):
    """`length` characters side by side in one source, from `position` on; `origin` None: the template's own text."""

    length: int
    origin: Origin | None
    position: int


class TracedStr(str):
    """A str whose operations keep the origin of every character. Compares and hashes as the plain text.

    Operations that it does not follow return a plain str, which counts as template text; the chat template
    checks with a probe that none of the data's text gets lost this way.
    """

    _runs: tuple[Run, ...]
    is_watched = False  # what such a string is part of is watched, too

    @classmethod
    def build(cls, text: str, runs: Iterable[Run]) -> TracedStr:
        """`text` with its origins; the lengths of `runs` add up to the text's."""
        traced = str.__new__(cls, text)
        traced._runs = tuple(runs)
        return traced

    @classmethod
    def from_data(cls, text: str, origin: Origin) -> TracedStr:
        """A string of the data, as it stands there."""
        return cls.build(text, [Run(len(text), origin, 0)] if text else [])

    @classmethod
    def from_template(cls, text: str) -> TracedStr:
        """A string of the template's own."""
        return cls.build(text, [Run(len(text), None, 0)] if text else [])

    def joined(self, text: str, runs: Iterable[Run]) -> TracedStr:
        """A string that this one is a part of."""
        return TracedStr.build(text, runs)

    def __str__(self) -> str:
        return self

    def __add__(self, other: str) -> str:
        return concat((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return concat((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: SupportsIndex) -> str:
        return concat([self] * max(0, int(count)))

    def __rmul__(self, count: SupportsIndex) -> str:
        return self * count

    def __mod__(self, values: Any) -> str:
        return _percent_format(self, values)

    def __rmod__(self, template: str) -> str:
        return _percent_format(template, self)

    def __iter__(self) -> Iterator[str]:
        return (self.cut(position, position + 1) for position in range(len(self)))

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        if not isinstance(key, slice):
            position = range(len(self))[key]
            return self.cut(position, position + 1)
        positions = range(len(self))[key]
        if positions.step == 1:
            return self.cut(positions.start, max(positions.start, positions.stop))
        return concat(self.cut(position, position + 1) for position in positions)

    def cut(self, start: int, stop: int) -> TracedStr:
        """Characters `start` up to `stop`, both within the text."""
        text = str.__getitem__(self, slice(start, stop))
        runs = self._runs
        if len(runs) < _MANY_RUNS:
            return TracedStr.build(text, _cut_runs(runs, 0, start, stop))
        first = bisect_right(self._run_stops, start)
        passed = self._run_stops[first - 1] if first else 0
        last = bisect_left(self._run_stops, stop) + 1
        return TracedStr.build(text, _cut_runs(runs[first:last], passed, start, stop))

    @cached_property
    def _run_stops(self) -> list[int]:
        """Where each run ends in the text."""
        return list(accumulate(run.length for run in self._runs))

    def strip(self, chars: str | None = None, /) -> str:
        start = len(self) - len(str.lstrip(self, chars))
        return self.cut(start, start + len(str.strip(self, chars)))

    def lstrip(self, chars: str | None = None, /) -> str:
        return self.cut(len(self) - len(str.lstrip(self, chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> str:
        return self.cut(0, len(str.rstrip(self, chars)))

    def removeprefix(self, prefix: str, /) -> str:
        return self.cut(len(prefix), len(self)) if str.startswith(self, prefix) else self

    def removesuffix(self, suffix: str, /) -> str:
        return self.cut(0, len(str.removesuffix(self, suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        parts: list[str] = []
        start = 0
        for part in str.split(self, sep, maxsplit):
            start = str.find(self, part, start) if sep is None else start
            parts.append(self.cut(start, start + len(part)))
            start += len(part) + len(sep or "")
        return parts

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        parts: list[str] = []
        stop = len(self)
        for part in reversed(str.rsplit(self, sep, maxsplit)):
            start = str.rfind(self, part, 0, stop) if sep is None else stop - len(part)
            parts.append(self.cut(start, start + len(part)))
            stop = start - len(sep or "")
        return parts[::-1]

    def splitlines(self, keepends: bool = False) -> list[str]:
        lines: list[str] = []
        start = 0
        for line, whole in zip(str.splitlines(self), str.splitlines(self, True), strict=True):
            lines.append(self.cut(start, start + len(whole if keepends else line)))
            start += len(whole)
        return lines

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        return self._in_three(str.partition(self, sep))

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        return self._in_three(str.rpartition(self, sep))

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        if not old:
            return self._interleave(new, int(count))
        return TracedStr.join(_traced(new), self.split(old, count))

    def join(self, parts: Iterable[str], /) -> str:
        pieces: list[str] = []
        for number, part in enumerate(parts):
            if not isinstance(part, str):
                raise TypeError(f"sequence item {number}: expected str instance, {type(part).__name__} found")
            pieces += (self, part) if number else (part,)
        return concat(pieces)

    def lower(self) -> str:
        return self._mapped(str.lower)

    def upper(self) -> str:
        return self._mapped(str.upper)

    def title(self) -> str:
        return self._mapped(str.title)

    def capitalize(self) -> str:
        return self._mapped(str.capitalize)

    def casefold(self) -> str:
        return self._mapped(str.casefold)

    def swapcase(self) -> str:
        return self._mapped(str.swapcase)

    def ljust(self, width: SupportsIndex, fillchar: str = " ", /) -> str:
        return concat((self, fillchar * (int(width) - len(self))))

    def rjust(self, width: SupportsIndex, fillchar: str = " ", /) -> str:
        return concat((fillchar * (int(width) - len(self)), self))

    def center(self, width: SupportsIndex, fillchar: str = " ", /) -> str:
        padding = max(0, int(width) - len(self))
        left = padding // 2 + (padding & int(width) & 1)
        return concat((fillchar * left, self, fillchar * (padding - left)))

    def _in_three(self, plain_parts: tuple[str, str, str]) -> tuple[str, str, str]:
        head, middle, _ = plain_parts
        tail_start = len(head) + len(middle)
        return self.cut(0, len(head)), self.cut(len(head), tail_start), self.cut(tail_start, len(self))

    def _interleave(self, new: str, count: int) -> str:
        places = len(self) + 1 if count < 0 else min(count, len(self) + 1)
        pieces: list[str] = []
        for position in range(places):
            pieces += (new, self.cut(position, min(position + 1, len(self))))
        return concat([*pieces, self.cut(min(places, len(self)), len(self))])

    def _mapped(self, mapping: Callable[[str], str]) -> str:
        text = mapping(str.__getitem__(self, slice(None)))
        if len(text) == len(self):
            return TracedStr.build(text, self._runs)
        widths = [len(mapping(character)) for character in str.__iter__(self)]
        if sum(widths) != len(text):
            return text
        runs = (
            Run(1, run.origin, run.position)
            for character, width in zip(self, widths, strict=True)
            for run in runs_of(character) * width
        )
        return TracedStr.build(text, runs)


def concat(pieces: Iterable[str]) -> str:
    """The pieces as one string; traced as soon as one of them is."""
    pieces = list(pieces)
    text = "".join(pieces)
    maker: TracedStr | None = None
    joined: list[Run] = []
    for piece in pieces:
        runs: tuple[Run, ...]
        if isinstance(piece, TracedStr):
            maker = piece if maker is None or piece.is_watched else maker
            runs = piece._runs
        else:
            runs = (Run(len(piece), None, 0),) if piece else ()
        if joined and runs and _follows(joined[-1], runs[0]):
            last = joined.pop()
            joined.append(Run(last.length + runs[0].length, last.origin, last.position))
            runs = runs[1:]
        joined += runs
    return text if maker is None else maker.joined(text, joined)


def runs_of(text: str) -> tuple[Run, ...]:
    """Where the characters of `text` come from, in order."""
    if isinstance(text, TracedStr):
        return text._runs
    return (Run(len(text), None, 0),) if text else ()


def _traced(text: str) -> TracedStr:
    return text if isinstance(text, TracedStr) else TracedStr.from_template(text)


def _follows(first: Run, second: Run) -> bool:
    if first.origin is None or second.origin is None:
        return first.origin is second.origin
    is_same = first.origin is second.origin or first.origin == second.origin
    return is_same and first.position + first.length == second.position


def _cut_runs(runs: tuple[Run, ...], passed: int, start: int, stop: int) -> Iterator[Run]:
    """The runs of characters `start` up to `stop`, out of runs of which the first begins at `passed`."""
    for run in runs:
        first, last = max(start, passed), min(stop, passed + run.length)
        if first < last:
            yield Run(last - first, run.origin, 0 if run.origin is None else run.position + first - passed)
        passed += run.length


_CONVERSION = re.compile(r"%(?:\((?P<key>[^)]*)\))?(?P<spec>[-#0 +]*\d*(?:\.\d+)?[a-zA-Z%])")


def _percent_format(template: str, values: Any) -> str:
    """`template % values` with origins kept where a whole string is put in with `%s`."""
    plain = str.__mod__(str.__getitem__(template, slice(None)), values)
    arguments = iter(values if isinstance(values, tuple) else (values,))
    pieces: list[str] = []
    position = 0
    source = _traced(template)
    for match in _CONVERSION.finditer(template):
        pieces.append(source.cut(position, match.start()))
        position = match.end()
        key, spec = match["key"], match["spec"]
        if spec == "%":
            pieces.append("%")
            continue
        value = values[key] if key is not None and isinstance(values, Mapping) else next(arguments, "")
        pieces.append(str(value) if spec == "s" else f"%{spec}" % (value,))
    formatted = concat([*pieces, source.cut(position, len(source))])
    return formatted if formatted == plain else plain
