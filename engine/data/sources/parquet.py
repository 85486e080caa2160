"""The rows of a parquet file, read by its row groups."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from threading import Lock
from typing import Any

from engine.data.errors import BadRow, DataError
from engine.data.sources.named import NamedFile
from engine.data.sources.rows import DataFile, RawRow, ReadProgress
from engine.data.sources.scratch import mapped_table
from engine.data.sources.table import Table, rows_of_table

_GROUPS_KEPT = 2
"""One for whoever reads in order, one for whoever looks at single rows at the same time."""
_ROWS_AT_ONCE = 256
_LARGE_GROUP = 64 * 2**20
"""Row groups of more bytes are unpacked to the disk instead of into memory: some files are one single group."""
_BLOCK = 2**20
_LARGEST_POINTER = 1024


class ParquetRows:
    """The rows of one parquet file; `first_row` is the number of the first. Two row groups at most are in memory.

    Raises:
        DataError: the file is missing, unreadable, no parquet, or two of its columns have the same name.
    """

    def __init__(self, file: NamedFile, first_row: int, progress: ReadProgress | None = None) -> None:
        self._named = file
        self._first_row = first_row
        self._groups: OrderedDict[int, Table] = OrderedDict()
        self._groups_on_disk: dict[int, Table] = {}
        self._lock = Lock()
        self._stamp = _stamp_of(file)
        self._sha256 = _sha256_of(file, self._stamp.size, progress)
        self._file = _opened(file)
        sizes = (self._file.metadata.row_group(group).num_rows for group in range(self._file.num_row_groups))
        self._starts: list[int] = [0, *accumulate(sizes)]
        self.files: Sequence[DataFile] = (DataFile(file.name, self._sha256, has_bom=False),)

    def __len__(self) -> int:
        return self._starts[-1]

    def read(self, start: int, stop: int) -> Iterator[RawRow | BadRow]:
        """The rows `start` up to `stop`, counted from 0 within the file.

        Raises:
            DataError: the file has changed since it was opened, or is damaged.
        """
        while start < stop:
            group = bisect_right(self._starts, start) - 1
            end = min(stop, self._starts[group + 1], start + _ROWS_AT_ONCE)
            table = self._group(group).slice(start - self._starts[group], end - start)
            yield from rows_of_table(table, self._first_row + start, str(self._named.name), start + 1)
            start = end

    def _group(self, group: int) -> Table:
        with self._lock:
            if group in self._groups_on_disk:
                return self._groups_on_disk[group]
            if group in self._groups:
                self._groups.move_to_end(group)
                return self._groups[group]
            self._check_unchanged()
            try:
                table = self._load(group)
            except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
                raise DataError(
                    f"{self._named.name}: row group {group + 1} cannot be read: {_first_line(error)}."
                ) from error
            self._check_unchanged()
            return table

    def _load(self, group: int) -> Table:
        if self._file.metadata.row_group(group).total_byte_size > _LARGE_GROUP:
            batches = self._file.iter_batches(_ROWS_AT_ONCE, row_groups=[group])
            self._groups_on_disk[group] = mapped_table(self._file.schema_arrow, batches)
            return self._groups_on_disk[group]
        while len(self._groups) >= _GROUPS_KEPT:
            self._groups.popitem(last=False)
        self._groups[group] = self._file.read_row_group(group)
        return self._groups[group]

    def _check_unchanged(self) -> None:
        stamp = _stamp_of(self._named)
        if stamp == self._stamp:
            return
        if _sha256_of(self._named, stamp.size, None) != self._sha256:
            raise DataError(f"{self._named.name} has changed since it was opened; start again.")
        self._stamp = stamp


class _Stamp(tuple[int, ...]):
    """What changes with a file's content: its size, its times, and its number on the disk."""

    @property
    def size(self) -> int:
        return self[0]


def _stamp_of(file: NamedFile) -> _Stamp:
    try:
        found = file.path.stat()
    except FileNotFoundError:
        raise DataError(f"{file.name}: no such file.") from None
    except OSError as error:
        raise DataError(f"{file.name} cannot be read: {error.strerror}.") from error
    return _Stamp((found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))


def _sha256_of(file: NamedFile, size: int, progress: ReadProgress | None) -> str:
    digest = hashlib.sha256()
    done = 0
    try:
        with file.path.open("rb", buffering=0) as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
                done += len(block)
                if progress is not None:
                    progress("reading data", done, size)
    except OSError as error:
        raise DataError(f"{file.name} cannot be read: {error.strerror}.") from error
    return digest.hexdigest()


def _opened(file: NamedFile) -> Any:
    import pyarrow.parquet

    try:
        # Without these two settings a whole column of a row group is read into memory before its first row is there.
        opened = pyarrow.parquet.ParquetFile(file.path, pre_buffer=False, buffer_size=_BLOCK)
    except (OSError, ValueError) as error:
        reason = f"is no parquet file, or is damaged: {_first_line(error)}"
        if file.path.stat().st_size < _LARGEST_POINTER and file.path.read_bytes().startswith(b"version "):
            reason = "is no data but a pointer of Git LFS; run `git lfs pull` where it was cloned"
        raise DataError(f"{file.name} {reason}.") from error
    names = opened.schema_arrow.names
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{file.name} has two columns of the name {doubled[0]!r}; write it with one of each name.")
    return opened


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
