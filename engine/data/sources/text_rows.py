"""The rows of a JSONL or JSON file, found once and then read wherever they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.data.errors import BadRow, DataError
from engine.data.sources.json_document import find_objects
from engine.data.sources.json_text import JsonText
from engine.data.sources.jsonl import find_lines
from engine.data.sources.named import NamedFile
from engine.data.sources.parse import parse_object
from engine.data.sources.rows import DataFile, RawRow, ReadProgress
from engine.data.sources.stretches import Stretches
from engine.data.sources.textfile import TextFile

_DOCUMENT_SUFFIXES = (".json", ".json.gz")


class TextRows:
    """The rows of one file, of which only the places are kept in memory; `first_row` is the number of the first.

    Every read is compared with a checksum of what stood there at the start, so that a file that changes meanwhile gives
    an error and never another row.

    Raises:
        DataError: the file is missing, unreadable, not UTF-8 text, or (JSON) broken.
    """

    def __init__(self, named: NamedFile, first_row: int, progress: ReadProgress | None = None) -> None:
        self._first_row = first_row
        self._file = TextFile(named, progress)
        is_document = named.path.name.lower().endswith(_DOCUMENT_SUFFIXES)
        rows = self._objects() if is_document else None
        if rows is None:
            self._file = TextFile(named, progress)
            rows = self._lines()
        self._rows: Stretches = rows
        self.files: Sequence[DataFile] = (self._file.fingerprint(),)

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, start: int, stop: int) -> Iterator[RawRow | BadRow]:
        """The rows `start` up to `stop`, counted from 0 within the file. What is no JSON object comes as `BadRow`.

        Raises:
            DataError: the file has changed since it was opened, or cannot be read any more.
        """
        name = str(self._file.name)
        with self._file.again() as stream:
            for number in range(start, stop):
                stretch = self._rows[number]
                stream.seek(stretch.start)
                content = stream.read(stretch.length)
                if not stretch.holds(content):
                    raise DataError(f"{name} has changed since it was opened (line {stretch.line}); start again.")
                yield parse_object(self._first_row + number, name, stretch.line, content)

    def _lines(self) -> Stretches:
        with self._file.scan() as stream:
            return find_lines(stream, self._file.start)

    def _objects(self) -> Stretches | None:
        with self._file.scan() as stream:
            return find_objects(JsonText(self._file.name, stream, self._file.start))
