"""All rows of a list of sources, in order and by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.data.errors import BadRow
from engine.data.sources.jsonl import JsonlReader
from engine.data.sources.rows import DataFile, RawRow, SourceSpec


@dataclass(frozen=True, slots=True)
class Span:
    """The rows `start` up to `stop` come from one source."""

    spec: SourceSpec
    start: int
    stop: int


class Corpus:
    """The joined rows of its sources. Rows can be read again and again, in order or by number.

    Rows are numbered from `first_row` on. `files` holds each file's fingerprint.

    Raises:
        DataError: a source is missing, unreadable, or of a kind that is not known.
    """

    def __init__(self, specs: Sequence[SourceSpec], first_row: int = 0) -> None:
        self.first_row = first_row
        self.files: list[DataFile] = []
        self.spans: list[Span] = []
        self._rows: list[RawRow | BadRow] = []
        for spec in specs:
            reader = JsonlReader(first_row + len(self._rows))
            start = first_row + len(self._rows)
            self._rows += reader.read([Path(spec.path)])
            self.files += reader.files
            self.spans.append(Span(spec, start, first_row + len(self._rows)))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RawRow | BadRow]:
        return iter(self._rows)

    def at(self, row: int) -> RawRow | BadRow:
        """The row of that number. Raises IndexError outside of the corpus."""
        if not self.first_row <= row < self.first_row + len(self):
            raise IndexError(row)
        return self._rows[row - self.first_row]
