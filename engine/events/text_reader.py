"""Follows a growing text log: every line once, whole and as text, and what became of the file is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.events.growing import CHUNK_BYTES, RESTARTED, GrowingFile


@dataclass(frozen=True, slots=True)
class TextBatch:
    """The lines of one poll and remarks about the file; `restarted` says that they come from its new start."""

    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    restarted: bool = False
    more: bool = False


class TextReader:
    """Lines are split after decoding, so that no letter is torn; bytes that are no UTF-8 become U+FFFD.

    Where a carriage return lets a terminal write over a line (progress bars), `every_piece` gives each text that stood
    there as a line of its own, else the last one is the line. `tail_bytes` as for GrowingFile.
    """

    def __init__(
        self,
        path: Path,
        *,
        every_piece: bool = True,
        tail_bytes: int | None = None,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self._every_piece = every_piece
        ends = (b"\n", b"\r") if every_piece else (b"\n",)
        self._file = GrowingFile(path, ends=ends, tail_bytes=tail_bytes, chunk_bytes=chunk_bytes)
        self._is_first = True

    @property
    def offset(self) -> int:
        """The first byte of the first line not yet delivered."""
        return self._file.offset

    def poll(self) -> TextBatch:
        """The lines that were completed since the last poll, none while the file does not exist. Raises OSError."""
        grown = self._file.poll()
        lines = lines_of(grown.data, self._every_piece)
        if self._is_first and lines:
            self._is_first = False
            lines = lines[1:] if self._file.begins_torn else lines
        notes = (RESTARTED[grown.restart],) if grown.restart else ()
        return TextBatch(lines, notes, grown.restart is not None, grown.more)

    def rest(self) -> tuple[str, ...]:
        """What stands behind the last line end, for when nobody writes any more."""
        return lines_of(self._file.rest(), self._every_piece)


def lines_of(data: bytes, every_piece: bool = True) -> tuple[str, ...]:
    """The lines of bytes that begin at the start of a line."""
    if not data:
        return ()
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = text.removesuffix("\n").split("\n")
    if "\r" not in text:
        return tuple(lines)
    pieces = ([piece for piece in line.split("\r") if piece] or [""] for line in lines)
    return tuple(piece for several in pieces for piece in (several if every_piece else several[-1:]))
