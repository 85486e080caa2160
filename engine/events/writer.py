"""Appends events to a run's log, and outlives a full disk."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from engine.durable import flush_folder
from engine.events.codec import encode
from engine.events.types import Alert, Event
from engine.private import file_mode

MAX_WAITING_BYTES = 64 * 2**20
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


class EventWriter:
    """Writes each event as one line with one append, from any thread.

    While the disk is full the lines wait in memory (up to 64 MiB, then the oldest go) and each later write tries again;
    once they are on disk an alert says for how long the log stood still.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._folder: Path | None = path.parent
        """Until the log's name in it is on the disk: the bytes of a new file are lost without it."""
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, file_mode(path.parent))
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._lost = 0
        self._full_since: float | None = None
        if _ends_inside_a_line(path):
            self._enqueue(b"\n")

    @property
    def stalled(self) -> bool:
        """True while lines wait for space on the disk."""
        return self._full_since is not None

    def write(self, event: Event) -> None:
        """Append the event. A full disk is survived; every other OSError is raised."""
        with self._lock:
            if self._descriptor < 0:
                return
            self._enqueue(self._line(event))
            if self._drain() and self._full_since is not None:
                self._enqueue(self._line(self._recovery()))
                self._full_since, self._lost = None, 0
                self._drain()

    def flush_to_disk(self) -> None:
        """Wait until what was written is on the disk, so that a power cut does not take it. Raises OSError."""
        with self._lock:
            if self._descriptor >= 0 and self._drain():
                self._flush()

    def close(self) -> None:
        """Try once more to write what waits, then close the file. Later writes are ignored."""
        with self._lock:
            if self._descriptor >= 0:
                if self._drain():
                    with suppress(OSError):  # a failing disk has been told of by then, or nobody can be told
                        self._flush()
                os.close(self._descriptor)
                self._descriptor = -1

    def _flush(self) -> None:
        os.fsync(self._descriptor)
        if self._folder is not None:
            flush_folder(self._folder)
            self._folder = None

    def _line(self, event: Event) -> bytes:
        return (encode(event, self._now()) + "\n").encode()

    def _enqueue(self, line: bytes) -> None:
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        while self._waiting_bytes > MAX_WAITING_BYTES and len(self._waiting) > 2:
            self._waiting_bytes -= len(self._waiting[1])  # the first may be half written already
            del self._waiting[1]
            self._lost += 1

    def _drain(self) -> bool:
        while self._waiting:
            line = self._waiting[0]
            try:
                written = os.write(self._descriptor, line)
            except OSError as error:
                if error.errno not in _NO_SPACE:
                    raise
                written = 0
            self._waiting_bytes -= written
            if written < len(line):
                self._waiting[0] = line[written:]
                if self._full_since is None:
                    self._full_since = self._now()
                return False
            self._waiting.popleft()
        return True

    def _recovery(self) -> Alert:
        assert self._full_since is not None
        seconds = self._now() - self._full_since
        lost = f", {self._lost} events were lost" if self._lost else ", no event was lost"
        return Alert(
            id="log-disk-full",
            state="closed",
            code="LOG_DISK_FULL",
            severity="warning",
            meaning=f"The disk was full for {seconds:.0f} s and the log could not be written{lost}.",
        )


def _ends_inside_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
