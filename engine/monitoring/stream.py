"""The lines that come through a pipe."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

from engine.events.text_reader import TextBatch, lines_of

_CHUNK_BYTES = 64 * 1024


class Stream:
    """Reads what is there without waiting for more; `waits` lets a poll wait until the other end is closed."""

    def __init__(self, descriptor: int, waits: bool, clock: Callable[[], float] = time.time) -> None:
        self.is_over = False
        self._descriptor = descriptor
        self._waits = waits
        self._clock = clock
        self._changed: float | None = None
        self._partial = b""

    def poll(self) -> TextBatch:
        """The lines that are complete."""
        chunks = [self._partial]
        while not self.is_over and (self._waits or select.select([self._descriptor], [], [], 0)[0]):
            data = os.read(self._descriptor, _CHUNK_BYTES)
            self.is_over = not data
            self._changed = self._clock() if data else self._changed
            chunks.append(data)
        text = b"".join(chunks)
        end = max(text.rfind(b"\n"), text[:-1].rfind(b"\r")) + 1
        self._partial = text[end:]
        return TextBatch(lines_of(text[:end]))

    def rest(self) -> tuple[str, ...]:
        """What stands behind the last line end."""
        rest, self._partial = self._partial, b""
        return lines_of(rest)

    def changed(self) -> float | None:
        """When something came last."""
        return self._changed
