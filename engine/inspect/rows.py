"""All rows of a config, training first and then evaluation, by one number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from engine.data.errors import BadRow, DataError
from engine.data.row_batches import batched
from engine.data.sources.corpus import Corpus, Span
from engine.data.sources.rows import DataFile, RawRow, SourceSpec

Row = RawRow | BadRow


@dataclass(frozen=True, slots=True)
class Source:
    """One source of a config and its rows. `use` is `training` or `evaluation`."""

    spec: SourceSpec
    use: str
    first_row: int
    rows: int


class Rows:
    """The rows that a config names; they count from 0 over the training sources and then the evaluation sources."""

    def __init__(self, training: Corpus, evaluation: Corpus) -> None:
        self._corpora = (training, evaluation)
        self.files: list[DataFile] = [*training.files, *evaluation.files]
        self.sources = [
            Source(span.spec, use, span.start, span.stop - span.start)
            for corpus, use in ((training, "training"), (evaluation, "evaluation"))
            for span in corpus.spans
        ]

    def __len__(self) -> int:
        return sum(map(len, self._corpora))

    @property
    def first_eval_row(self) -> int:
        """The number of the first row of the evaluation sources, whether there is one or not."""
        return self._corpora[1].first_row

    def at(self, row: int) -> Row:
        """The row of that number.

        Raises:
            DataError: there is no such row.
        """
        if not 0 <= row < len(self):
            raise DataError(f"There is no row {row}; the rows are 0 to {len(self) - 1}.")
        return next(self.read(row, row + 1))

    def read(self, start: int, stop: int) -> Iterator[Row]:
        """The rows `start` up to `stop`, as far as there are any.

        Raises:
            DataError: a file has changed since it was opened, or cannot be read any more.
        """
        return chain.from_iterable(corpus.read(start, stop) for corpus in self._corpora)

    def batches(self, start: int, stop: int, rows: int = 128, characters: int = 200_000) -> Iterator[list[Row]]:
        """The rows `start` up to `stop` in lists of at most so many; few of them together where they are long.

        Raises:
            DataError: as `read`.
        """
        return batched(self.read(start, stop), rows, characters)

    @property
    def training_spans(self) -> Sequence[Span]:
        """Which of the training rows come from which source."""
        return self._corpora[0].spans

    @property
    def training_rows(self) -> int:
        """How many of the rows are there to train on; they come first."""
        return len(self._corpora[0])
