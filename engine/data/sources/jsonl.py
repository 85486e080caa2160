"""Local JSONL files as rows that know their file and line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.data.errors import BadRow, DataError
from engine.data.sources.rows import DataFile, RawRow

BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class JsonlReader:
    """Reads files one after another; rows of all files share one count.

    After the reading, `files` holds each file's fingerprint.
    """

    def __init__(self, first_row: int = 0) -> None:
        self.files: list[DataFile] = []
        self._next_row = first_row

    def read(self, paths: Sequence[Path]) -> Iterator[RawRow | BadRow]:
        """The rows of the files in order. Lines that are not a JSON object come as `BadRow`; blank lines are skipped.

        Raises:
            DataError: a file is missing, unreadable, a folder, or not UTF-8 text at all.
        """
        for path in paths:
            yield from self._read_file(path)

    def _read_file(self, path: Path) -> Iterator[RawRow | BadRow]:
        content = _file_content(path)
        has_bom = content.startswith(BOM)
        self.files.append(DataFile(path, hashlib.sha256(content).hexdigest(), has_bom))
        for number, line in enumerate(content.removeprefix(BOM).split(b"\n"), start=1):
            if line.strip():
                yield self._parse(path, number, line)
                self._next_row += 1

    def _parse(self, path: Path, number: int, line: bytes) -> RawRow | BadRow:
        row = self._next_row

        def bad(reason: str, column: int | None = None) -> BadRow:
            return BadRow("BAD_JSON", row, str(path), number, reason, column)

        try:
            value = json.loads(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            return bad(f"byte {line[error.start]:#04x} is not UTF-8; save the file as UTF-8", error.start + 1)
        except json.JSONDecodeError as error:
            return bad(f"not valid JSON: {error.msg}", error.colno)
        except RecursionError:
            return bad("the JSON is nested too deeply")
        except ValueError:
            return bad("it holds a whole number with thousands of digits")
        if isinstance(value, dict):
            return RawRow(row, str(path), number, value)
        return bad(f"expected a JSON object ({{...}}) on each line, found {_json_type(value)}", 1)


def _file_content(path: Path) -> bytes:
    if path.is_dir():
        raise DataError(f"{path} is a folder; folders are not available yet, name its JSONL files instead.")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"{path}: no such file; data sets are local JSONL files (names on the hub are not available yet)."
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    encoding = _OTHER_BOMS.get(content[:2])
    if encoding is not None:
        raise DataError(f"{path} is {encoding} text; save it as UTF-8.")
    if content.startswith((b"\x1f\x8b", b"PAR1", b"PK\x03\x04")):
        raise DataError(f"{path} is a binary file; only plain JSONL is available yet.")
    return content


def _json_type(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
