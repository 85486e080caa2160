"""All rows of a list of sources, in order and by number."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engine.data.errors import BadRow
from engine.data.sources.opening import open_source
from engine.data.sources.rows import DataFile, RawRow, ReadProgress, RowReader, SourceSpec


@dataclass(frozen=True, slots=True)
class Span:
    """The rows `start` up to `stop` come from one source."""

    spec: SourceSpec
    start: int
    stop: int


class Corpus:
    """The joined rows of its sources, which can be read again and again, in order or by number, from any thread.

    Rows are numbered from `first_row` on. The files are gone through once, to find the rows and to take their
    fingerprints (`files`); after that only the places of the rows are in memory, and rows are parsed when they are
    read.
    `spans` tells which rows come from which source, `progress` hears of the download and of that first reading.

    Raises:
        DataError: a source is missing, unreadable, has not the wanted split, or is of a kind that is not known.
    """

    def __init__(self, specs: Sequence[SourceSpec], first_row: int = 0, progress: ReadProgress | None = None) -> None:
        self.first_row = first_row
        self.spans: list[Span] = []
        self._readers: list[RowReader] = []
        self._ends: list[int] = []
        end = first_row
        for spec in specs:
            start = end
            for reader in open_source(spec, start, progress):
                end += len(reader)
                self._readers.append(reader)
                self._ends.append(end)
            self.spans.append(Span(spec, start, end))

    @property
    def files(self) -> list[DataFile]:
        """What was read, in order, with fingerprints."""
        return [replace(file, is_empty=not len(reader)) for reader in self._readers for file in reader.files]

    def __len__(self) -> int:
        return self._ends[-1] - self.first_row if self._ends else 0

    def __iter__(self) -> Iterator[RawRow | BadRow]:
        return self.read(self.first_row, self.first_row + len(self))

    def at(self, row: int) -> RawRow | BadRow:
        """The row of that number.

        Raises:
            IndexError: outside of the corpus.
            DataError: its file has changed since it was opened, or cannot be read any more.
        """
        if not self.first_row <= row < self.first_row + len(self):
            raise IndexError(row)
        return next(self.read(row, row + 1))

    def read(self, start: int, stop: int) -> Iterator[RawRow | BadRow]:
        """The rows with the numbers `start` up to `stop`, as far as there are such rows.

        Raises:
            DataError: a file has changed since it was opened, or cannot be read any more.
        """
        start = max(start, self.first_row)
        stop = min(stop, self.first_row + len(self))
        number = bisect_right(self._ends, start)
        while start < stop:
            reader, end = self._readers[number], self._ends[number]
            first = end - len(reader)
            yield from reader.read(start - first, min(stop, end) - first)
            start, number = max(start, end), number + 1
