"""From the place that a source names to readers of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from engine.data.errors import DataError
from engine.data.sources.folder import EVALUATION, TRAIN, data_files
from engine.data.sources.hub import download, find_split
from engine.data.sources.hub_table import HubTable
from engine.data.sources.named import NamedFile
from engine.data.sources.parquet import ParquetRows
from engine.data.sources.rows import ReadProgress, RowReader, SourceSpec
from engine.data.sources.text_rows import TextRows
from engine.datasets_named import KINDS_OF_DATA, TABLE_SUFFIXES, is_hub_name


def open_source(spec: SourceSpec, first_row: int, progress: ReadProgress | None) -> Iterator[RowReader]:
    """A reader for each file of the source, in order; `first_row` is the number of the first file's first row.

    Raises:
        DataError: there is nothing of that name, or not that split, or a file cannot be read.
    """
    path = Path(spec.path).expanduser()
    if _is(Path.is_dir, path):
        files = [NamedFile(file) for file in data_files(path, spec.split)]
    elif is_hub_name(spec.path, Path()):
        split = find_split(spec.path, spec.split)
        files = download(split, progress)
        if not split.is_plain:
            yield HubTable(split, first_row)
            return
    else:
        files = [NamedFile(_single_file(path, spec.split))]
    for file in files:
        reader = _open(file, first_row, progress)
        yield reader
        first_row += len(reader)


def _open(file: NamedFile, first_row: int, progress: ReadProgress | None) -> RowReader:
    _check_is_file(file)
    if file.path.name.lower().endswith(TABLE_SUFFIXES):
        return ParquetRows(file, first_row, progress)
    return TextRows(file, first_row, progress)


def _check_is_file(file: NamedFile) -> None:
    """Opening a pipe or a device might wait for ever, and what it gave could not be read a second time."""
    if _is(Path.is_file, file.path):
        return
    if _is(Path.exists, file.path):
        raise DataError(f"{file.name} is a pipe or a device, and rows are read more than once; write them to a file.")
    if file.path.is_symlink():
        raise DataError(f"{file.name} is a link to {file.path.readlink()}, where no file is.")


def _is(question: Callable[[Path], bool], path: Path) -> bool:
    try:
        return question(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def _single_file(path: Path, split: str) -> Path:
    if not _is(Path.exists, path):
        raise DataError(f"{path}: no such file or folder; give {KINDS_OF_DATA}.")
    if split not in (TRAIN, EVALUATION):
        raise DataError(
            f"{path} is a single file and has no splits, so there is no {split!r} in it; "
            "name a folder whose files are called after the splits, or name the file of each split."
        )
    return path
