"""From a token back to the characters of the data that it stands for."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from engine.data.rendering.rendered import Rendered
from engine.data.template.layout import DataPiece, data_pieces


@dataclass(frozen=True, slots=True)
class Source:
    """Characters `start` up to `stop` of one string of the data.

    `turn` counts from 0 and is None for a tool that the row offers; `field` is a path as in `engine.data.paths`.
    """

    turn: int | None
    field: str
    start: int
    stop: int


class Sources:
    """The sources of the tokens of one rendered row."""

    def __init__(self, rendered: Rendered) -> None:
        self._rendered = rendered

    def of(self, token: int) -> Source | None:
        """The first string of the data that the token has a part in; None for text of the template alone.

        Several tokens that share one character all stand for it.
        """
        start = self._rendered.starts[token]
        stop = self._stop(token, start)
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._pieces[first].stop <= start:
            first += 1
        if first >= len(self._pieces) or self._pieces[first].start >= stop:
            return None
        piece = self._pieces[first]
        index = piece.index + max(0, start - piece.start)
        index_stop = piece.index + min(stop, piece.stop) - piece.start
        for number in range(first + 1, len(self._pieces)):
            following = self._pieces[number]
            if following.start >= stop or following.origin != piece.origin or following.index > index_stop:
                break
            index_stop = max(index_stop, following.index + min(stop, following.stop) - following.start)
        return Source(piece.turn, piece.origin.field, index, index_stop)

    def _stop(self, token: int, start: int) -> int:
        """Where the next character begins that another token begins with."""
        starts = self._rendered.starts
        following = bisect_right(starts, start, lo=token)
        return max(starts[following], start + 1) if following < len(starts) else len(self._rendered.text)

    @cached_property
    def _pieces(self) -> list[DataPiece]:
        return data_pieces(self._rendered.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [piece.start for piece in self._pieces]
