"""The newest lines of an engine's `console.log`."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from engine.events.text_reader import TextReader

TAIL_BYTES = 64 * 1024
"""How much of a log that is already long is read when it is first opened."""


class ConsoleTail:
    """Follows a text file: each `poll` returns the lines completed since the last one, as a terminal would show them.

    When the file was emptied, replaced or written anew it is read from its start, and a line says so. The last line is
    held back until its newline comes; `rest` gives it.
    """

    def __init__(self, path: Path, tail_bytes: int = TAIL_BYTES, tells_restarts: bool = True) -> None:
        """Without `tells_restarts` somebody else says that the file was emptied."""
        self._tells_restarts = tells_restarts
        self._reader = TextReader(path, every_piece=False, tail_bytes=tail_bytes)

    def poll(self) -> tuple[str, ...]:
        """The lines since the last poll, none while the file does not exist."""
        batch = self._reader.poll()
        notes = batch.notes if self._tells_restarts else ()
        lines = (*(f"note: {note}" for note in notes), *batch.lines)
        while batch.more:
            batch = self._reader.poll()
            lines += batch.lines
        return lines

    def rest(self) -> tuple[str, ...]:
        """The unfinished last line, as one line, when the writer is gone."""
        return self._reader.rest()


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """The last `count` lines of the file that are not empty, an unfinished one included; none when there is no file."""
    tail = ConsoleTail(path)
    lines = deque((line for line in (*tail.poll(), *tail.rest()) if line.strip()), maxlen=count)
    return tuple(lines)
