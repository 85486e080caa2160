"""A safetensors file as bytes: which tensor lies where, and a new file written tensor by tensor.

The format: 8 bytes length of the header (little endian), the header in JSON, then the tensors without gaps.
https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

METADATA = "__metadata__"
_CHUNK = 2**24
_ALIGNMENT = 8
_LONGEST_HEADER = 100_000_000  # the format's own limit
TORCH_DTYPES: dict[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}
NAMES_OF_DTYPES = {dtype: name for name, dtype in TORCH_DTYPES.items()}


class SourceChangedError(OSError):
    """A file that tensors are copied from cannot be read any more, or is not the one that was opened."""


@dataclass(frozen=True)
class Place:
    """Where a tensor lies in its file: `begin` counts bytes from the start of the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    nbytes: int


@dataclass
class SourceFile:
    """An open safetensors file. It stays readable when its name is removed from the folder meanwhile."""

    name: str
    places: dict[str, Place]
    metadata: dict[str, str]
    _descriptor: int
    _stamp: tuple[int, int] = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> SourceFile:
        """Raises OSError where it cannot be read and ValueError where it is no safetensors file."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            places, metadata = _read_header(descriptor)
            return cls(path.name, places, metadata, descriptor, _stamp(descriptor))
        except BaseException:
            os.close(descriptor)
            raise

    def close(self) -> None:
        """Let the file go; nothing can be read after this."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()

    @property
    def is_removed(self) -> bool:
        """True when no folder names the file any more; its space is free once it is closed."""
        return os.fstat(self._descriptor).st_nlink == 0

    def check(self) -> None:
        """Raise SourceChangedError when something has written into the file since it was opened."""
        try:
            stamp = _stamp(self._descriptor)
        except OSError as error:
            raise SourceChangedError(f"{self.name} cannot be read any more ({error.strerror})") from error
        if stamp != self._stamp:
            raise SourceChangedError(f"{self.name} has been changed since the model was loaded")

    def chunks(self, key: str) -> Iterator[bytes]:
        """The bytes of a tensor, piece by piece. Raises SourceChangedError."""
        place = self.places[key]
        done = 0
        while done < place.nbytes:
            try:
                piece = os.pread(self._descriptor, min(_CHUNK, place.nbytes - done), place.begin + done)
            except OSError as error:
                raise SourceChangedError(f"{self.name} cannot be read any more ({error.strerror})") from error
            if not piece:
                raise SourceChangedError(f"{self.name} ends before its tensor {key}")
            done += len(piece)
            yield piece

    def tensor(self, key: str) -> Tensor:
        """The tensor itself, on the CPU. Raises SourceChangedError; KeyError for a type unknown to torch."""
        place = self.places[key]
        content = torch.empty(place.nbytes, dtype=torch.uint8)
        buffer, done = memoryview(content.numpy().data), 0
        while done < place.nbytes:
            count = os.preadv(self._descriptor, [buffer[done:]], place.begin + done)
            if not count:
                raise SourceChangedError(f"{self.name} ends before its tensor {key}")
            done += count
        return content.view(TORCH_DTYPES[place.dtype]).reshape(place.shape)


@dataclass(frozen=True)
class Entry:
    """A tensor of a file that is to be written; `nbytes` long."""

    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    content: Iterable[bytes | memoryview]
    """Read once, when its turn comes."""


def write_file(path: Path, entries: Mapping[str, Entry], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file with one tensor at a time in memory. Raises OSError."""
    order = sorted(entries, key=lambda key: -_element_bytes(entries[key]))  # wide types first, so that all are aligned
    header: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    end = 0
    for key in order:
        entry = entries[key]
        header[key] = {"dtype": entry.dtype, "shape": list(entry.shape), "data_offsets": [end, end + entry.nbytes]}
        end += entry.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for key in order:
            written = sum(file.write(piece) for piece in entries[key].content)
            assert written == entries[key].nbytes, f"{key}: {written} bytes instead of {entries[key].nbytes}"


def _element_bytes(entry: Entry) -> int:
    dtype = TORCH_DTYPES.get(entry.dtype)
    return dtype.itemsize if dtype is not None else 1


def _stamp(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns


def _read_header(descriptor: int) -> tuple[dict[str, Place], dict[str, str]]:
    start = os.pread(descriptor, 8, 0)
    if len(start) < 8:
        raise ValueError("the file is too short")
    (length,) = struct.unpack("<Q", start)
    if length > _LONGEST_HEADER:
        raise ValueError("the header is too long")
    header: dict[str, Any] = json.loads(os.pread(descriptor, length, 8))
    metadata = header.pop(METADATA, {})
    places = {}
    for key, told in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
        begin, end = told["data_offsets"]
        places[key] = Place(told["dtype"], tuple(told["shape"]), 8 + length + begin, end - begin)
    return places, metadata
