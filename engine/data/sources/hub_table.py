"""Rows of a data set of the hub whose files only `datasets` can read: it makes an Arrow table of them on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.data.errors import BadRow, DataError
from engine.data.sources.hub import SplitOnHub
from engine.data.sources.hub_errors import NoNetworkError, explained
from engine.data.sources.rows import DataFile, RawRow
from engine.data.sources.table import Table, rows_of_table

_ROWS_AT_ONCE = 256


@contextmanager
def _without_bars() -> Iterator[None]:
    """The bars of `datasets` would run through the lines of the console."""
    from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


class HubTable:
    """The rows of one split; the table stays on the disk and is mapped into memory.

    Raises:
        DataError: `datasets` cannot make a table of the files.
    """

    def __init__(self, split: SplitOnHub, first_row: int) -> None:
        import datasets

        self._first_row = first_row
        self._name = f"{split.repository}{f':{split.subset}' if split.subset else ''}/{split.split}"
        try:
            with explained(split.repository), _without_bars():
                loaded = datasets.load_dataset(split.repository, split.subset, split=split.split)
        except NoNetworkError as error:
            raise DataError(str(error)) from error
        self._table: Table = loaded.data.table
        self.files: Sequence[DataFile] = (DataFile(Path(self._name), str(loaded._fingerprint), has_bom=False),)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def read(self, start: int, stop: int) -> Iterator[RawRow | BadRow]:
        """The rows `start` up to `stop`, counted from 0 within the split."""
        while start < stop:
            size = min(_ROWS_AT_ONCE, stop - start)
            yield from rows_of_table(self._table.slice(start, size), self._first_row + start, self._name, start + 1)
            start += size
