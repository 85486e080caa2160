"""Where each row stands, kept as plain numbers: 20 bytes a row."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands; `line` counts from 1."""

    file: str
    line: int


class Places(Mapping[int, Place]):
    """From a row's number to its place. Rows are added in ascending order."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}  # the keys in order are the names; the values their place in that order
        self._rows = array("q")
        self._file_of = array("i")
        self._line_of = array("q")

    def add(self, row: int, file: str, line: int) -> None:
        """Take note of the place of a row, which comes after all that are there."""
        assert not self._rows or row > self._rows[-1], "rows come in ascending order"
        self._rows.append(row)
        self._file_of.append(self._files.setdefault(file, len(self._files)))
        self._line_of.append(line)

    def rows_by_file(self) -> dict[str, int]:
        """How many rows each file has."""
        counts = Counter(self._file_of)
        return {file: counts[number] for file, number in self._files.items()}

    @property
    def files(self) -> list[str]:
        """The files by their number in `arrays`."""
        return list(self._files)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """[N] each: row, number of its file, line."""
        return np.array(self._rows), np.array(self._file_of), np.array(self._line_of)

    @classmethod
    def from_arrays(cls, files: list[str], rows: NDArray[Any], file_of: NDArray[Any], line_of: NDArray[Any]) -> Places:
        """The places that `files` and `arrays` describe."""
        places = cls()
        places._files = {file: number for number, file in enumerate(files)}
        places._rows.frombytes(rows.tobytes())
        places._file_of.frombytes(file_of.tobytes())
        places._line_of.frombytes(line_of.tobytes())
        return places

    def __getitem__(self, row: int) -> Place:
        position = bisect_left(self._rows, row)
        if position == len(self._rows) or self._rows[position] != row:
            raise KeyError(row)
        return Place(list(self._files)[self._file_of[position]], self._line_of[position])

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)
