"""The bytes of a text file: read once from front to back with their SHA-256, and then again at any place."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from engine.data.errors import DataError
from engine.data.sources.named import NamedFile
from engine.data.sources.rows import DataFile, ReadProgress
from engine.data.sources.scratch import nameless_file

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BOM = b"\xef\xbb\xbf"
_BLOCK = 2**20
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"{\x00", b"\x00{", b"[\x00", b"\x00[")
_GZIP = b"\x1f\x8b"
_NO_TEXT = {
    b"PK\x03\x04": "a binary file: a ZIP archive; unpack it",
    b"\x28\xb5\x2f\xfd": "a binary file: compressed with zstd; unpack it, or compress it with gzip",
    b"\xfd7zXZ": "a binary file: compressed with xz; unpack it, or compress it with gzip",
    b"BZh": "a binary file: compressed with bzip2; unpack it, or compress it with gzip",
    b"version ": "no data but a pointer of Git LFS; run `git lfs pull` where it was cloned",
    b"PAR1": "a binary file: a parquet file; give it the suffix .parquet",
    b"ARROW1": "a binary file: an Arrow file; save it as parquet or JSONL",
}


class TextFile:
    """A file of UTF-8 text, plain or compressed with gzip.

    A compressed file is unpacked once into a nameless temporary file, since gzip has no way to begin in the middle.
    """

    def __init__(self, file: NamedFile, progress: ReadProgress | None = None) -> None:
        self.name = file.name
        self._path = file.path
        self.has_bom = False
        self._digest = hashlib.sha256()
        self._unpacked: IO[bytes] | None = None
        self._progress = progress
        self._done = 0
        self._size = 0

    @contextmanager
    def scan(self) -> Iterator[BinaryIO]:
        """The whole text as a stream, without its byte-order mark. To be read to its end, once.

        Raises:
            DataError: the file is missing, unreadable, a folder, or not UTF-8 text at all.
        """
        with self._explained(), self._path.open("rb", buffering=0) as raw:
            self._size = os.fstat(raw.fileno()).st_size
            hashed = io.BufferedReader(_Hashing(raw, self._passed), _BLOCK)
            is_packed = hashed.peek(2).startswith(_GZIP)
            stream: io.BufferedReader[Any] = self._unpack(hashed) if is_packed else hashed
            self.has_bom = self._check_start(stream.peek(8))
            stream.read(len(BOM) if self.has_bom else 0)
            yield stream

    @property
    def start(self) -> int:
        """Bytes before the text itself: those of the byte-order mark."""
        return len(BOM) if self.has_bom else 0

    def fingerprint(self) -> DataFile:
        """The whole file's SHA-256, after the scan."""
        return DataFile(self.name, self._digest.hexdigest(), self.has_bom)

    @contextmanager
    def again(self) -> Iterator[BinaryIO]:
        """The unpacked bytes from the very start, with seeking. Each caller has a position of its own."""
        with self._explained():
            if self._unpacked is None:
                with self._path.open("rb") as file:
                    yield file
            else:
                yield io.BufferedReader(_Reopened(self._unpacked.fileno()))

    def _unpack(self, packed: io.BufferedReader[Any]) -> io.BufferedReader[Any]:
        self._unpacked = nameless_file()
        with gzip.GzipFile(fileobj=packed) as text:
            shutil.copyfileobj(text, self._unpacked, _BLOCK)
        self._unpacked.flush()
        return io.BufferedReader(_Reopened(self._unpacked.fileno()), _BLOCK)

    def _check_start(self, start: bytes) -> bool:
        if start.startswith(_UTF16):
            raise DataError(f"{self.name} is UTF-16 text; save it as UTF-8.")
        for signature, kind in _NO_TEXT.items():
            if start.startswith(signature):
                raise DataError(f"{self.name} is {kind}.")
        return start.startswith(BOM)

    def _passed(self, block: memoryview) -> None:
        self._digest.update(block)
        self._done += len(block)
        if block and self._progress is not None:
            self._progress("reading data", self._done, max(self._done, self._size))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise DataError(f"{self.name}: no such file.") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{self.name} is not a whole gzip file ({error}); compress or copy it again.") from None
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {error.strerror or error}.") from error


class _Hashing(io.RawIOBase):
    """A stream that tells of all that passes through it."""

    def __init__(self, raw: io.FileIO, tell: Callable[[memoryview], None]) -> None:
        self._raw = raw
        self._tell = tell

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        count = self._raw.readinto(buffer) or 0
        self._tell(memoryview(buffer)[:count])
        return count


class _Reopened(io.RawIOBase):
    """An open file, read at a position of its own, so that several threads may share it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        assert whence == os.SEEK_SET, "only from the start"
        self._position = offset
        return offset

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        target = memoryview(buffer)
        block = os.pread(self._descriptor, len(target), self._position)
        target[: len(block)] = block
        self._position += len(block)
        return len(block)
