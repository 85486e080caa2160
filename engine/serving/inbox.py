"""Lines as they come in, from a thread that does nothing but wait for them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator

_END = b""


class Inbox:
    """What was sent stays here until it is taken with `lines`."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.is_closed = False
        """All lines were taken, and no more will come."""
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._fill, args=(lines,), name="requests", daemon=True).start()

    def lines(self) -> Iterator[bytes]:
        """The lines in order, until there are no more or until `interrupt`; after that one may go on."""
        while not self.is_closed:
            line = self._queue.get()
            if line is None:
                return
            self.is_closed = line == _END
            if not self.is_closed:
                yield line

    @property
    def has_more(self) -> bool:
        """Something waits to be taken: a line, or the end."""
        return self.is_closed or not self._queue.empty()

    def interrupt(self) -> None:
        """Let whoever waits for a line look at something else, behind the lines that are here already."""
        self._queue.put(None)

    def _fill(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._queue.put(line)
        self._queue.put(_END)
