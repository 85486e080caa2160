"""A row as it stands in its file, before anything is known about its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine.data.errors import BadRow

ReadProgress = Callable[[str, int, int], None]
"""Called with what is being done (`downloading`, `reading data`), the bytes done and the bytes known so far."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """One object of a data set; `row` counts from 0 over all joined sources, `line` from 1 within its file.

    In JSONL `line` is the line of the file, in JSON the line where the object begins, in parquet and on the hub the
    number of the row. `is_columnar`: the row comes from a table, whose structs are filled up with nulls that nobody
    wrote.
    """

    row: int
    file: str
    line: int
    value: dict[str, Any]
    is_columnar: bool = False


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where rows come from: a file, a folder or a hub name, which of its splits, and how often its rows are drawn.

    `weight` is relative to the source's size: 1 draws each row once an epoch, 2 twice, 0.5 half of them.
    """

    path: str
    split: str = "train"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class DataFile:
    """What was read of one file.

    `sha256` is of the whole file, byte for byte as it lies on the disk; for a data set of the hub, whose `path` is its
    name with the split, it is the fingerprint that `datasets` gives it, which follows the hub's revision.
    """

    path: Path
    sha256: str
    has_bom: bool
    is_empty: bool = False


class RowReader(Protocol):
    """The rows of one file, or of one split on the hub. Safe to read from several threads at once."""

    @property
    def files(self) -> Sequence[DataFile]:
        """What was read, with its fingerprint."""
        ...

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Iterator[RawRow | BadRow]:
        """The rows `start` up to `stop`, counted from 0 within this reader.

        Raises:
            DataError: the file has changed since it was opened, or cannot be read any more.
        """
        ...
