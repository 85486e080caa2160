"""A run's folder on another machine, mirrored on this one as far as it has been fetched."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import BinaryIO

from engine.events.growing import FINGERPRINT_BYTES, Restart
from engine.rundir import RunDir
from pgs_tui.remote.ranges import Ranges

NOTES = "mirror.json"
VERSION = 1
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Original:
    """How the log over there is known again: its inode, and the bytes it begins with (64, fewer of a short log)."""

    inode: int
    head: bytes


class Mirror:
    """A run directory whose `events.jsonl` has every byte at the same place as the original, or has a hole there.

    One thread puts bytes, others read the file and ask what is there. What was kept from another time is trusted only
    once `original` has been found again over there. Raises OSError where this machine's disk fails.
    """

    def __init__(self, folder: Path) -> None:
        self.run = RunDir(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._changed = Condition()
        self._file = os.open(self.run.events, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
        self._have, self.original = self._kept()
        self._version = 0

    @property
    def size(self) -> int:
        """One beyond the last byte that is there."""
        with self._changed:
            return self._have.last

    @property
    def complete(self) -> int:
        """How many bytes are there from the start on without a hole."""
        with self._changed:
            return self._have.end_of(0)

    def have(self, begin: int, end: int) -> bool:
        """Whether all bytes from `begin` to `end - 1` are there."""
        with self._changed:
            return self._have.have(begin, end)

    def end_of(self, place: int) -> int:
        """The first byte from `place` on that is not there."""
        with self._changed:
            return self._have.end_of(place)

    def hole_after(self, place: int) -> tuple[int, int]:
        """The first hole from `place` on: its first byte, and the next one that is there, or the same where none is."""
        with self._changed:
            begin = self._have.end_of(place)
            end = self._have.next_after(begin)
            return begin, begin if end is None else end

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end - 1`, which must be there."""
        assert self.have(begin, end), "bytes that were not fetched"
        return os.pread(self._file, end - begin, begin)

    def put(self, offset: int, data: bytes) -> None:
        """Write what stands over there from the byte `offset` on."""
        at = offset
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self._file, rest, at)
            at, rest = at + written, rest[written:]
        with self._changed:
            self._have.add(offset, at)
            self._version += 1
            self._changed.notify_all()

    def wait(self, timeout: float) -> None:
        """Wait until something has been put, or so many seconds."""
        with self._changed:
            version = self._version
            self._changed.wait_for(lambda: self._version != version, timeout)

    def begin_anew(self, how: Restart, original: Original | None) -> None:
        """What was fetched is void: the log over there was emptied, replaced or rewritten; the file shows the same."""
        with self._changed:
            self._have = Ranges()
            self.original = original
            if how == "replaced":
                self._replace_file()
            else:
                os.ftruncate(self._file, 0)
            self._version += 1
            self._changed.notify_all()
        self.keep()

    def write(self, path: Path, data: bytes) -> None:
        """Write another file of the run in one move."""
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f"{path.name}.tmp")
        with _private_file(temporary, os.O_TRUNC) as file:
            file.write(data)
        temporary.replace(path)

    def append(self, path: Path, data: bytes) -> None:
        """Append to another file of the run."""
        with _private_file(path, os.O_APPEND) as file:
            file.write(data)

    def keep(self) -> None:
        """Note what is there, for the next time; what is noted is on the disk."""
        os.fdatasync(self._file) if hasattr(os, "fdatasync") else os.fsync(self._file)
        with self._changed:
            head = self.original.head.hex() if self.original else ""
            inode = self.original.inode if self.original else 0
            notes = {"v": VERSION, "have": list(self._have), "inode": inode, "head": head}
        self.write(self.run.path / NOTES, json.dumps(notes).encode())

    def close(self) -> None:
        """Keep it for another time. On a full disk that is what was noted last."""
        if self._file >= 0:
            with suppress(OSError):
                self.keep()
            os.close(self._file)
            self._file = -1

    def _replace_file(self) -> None:
        temporary = self.run.events.with_suffix(".new")
        fresh = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _PRIVATE)
        temporary.replace(self.run.events)
        os.dup2(fresh, self._file, inheritable=False)
        os.close(fresh)

    def _kept(self) -> tuple[Ranges, Original | None]:
        """What was noted last time; nothing where the notes, or the bytes they speak of, are gone."""
        try:
            notes = json.loads((self.run.path / NOTES).read_bytes())
            have = Ranges((int(begin), int(end)) for begin, end in notes["have"])
            original = Original(int(notes["inode"]), bytes.fromhex(notes["head"]))
            is_known = notes["v"] == VERSION and original.head != b""
        except (OSError, ValueError, KeyError, TypeError, AssertionError):
            is_known = False
        head = os.pread(self._file, FINGERPRINT_BYTES, 0)
        if is_known and have.last <= os.fstat(self._file).st_size and head.startswith(original.head):
            return have, original
        os.ftruncate(self._file, 0)
        return Ranges(), None


def _private_file(path: Path, flags: int) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, _PRIVATE), "wb")
