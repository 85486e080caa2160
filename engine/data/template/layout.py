"""Which stretches of a rendered chat come from the data, and which from the template."""

from __future__ import annotations

from dataclasses import dataclass

from engine.data.template.traced import ROLE, Origin, TracedStr, runs_of


@dataclass(frozen=True, slots=True)
class DataPiece:
    """Characters `start` up to `stop` of the rendered text; they stand at `index` of their source string."""

    start: int
    stop: int
    origin: Origin
    index: int

    @property
    def turn(self) -> int | None:
        return self.origin.turn

    @property
    def index_stop(self) -> int:
        return self.index + self.stop - self.start


def data_pieces(text: TracedStr) -> list[DataPiece]:
    """The data's own text in rendered order. A role's name counts as template text, as it belongs to the header."""
    pieces: list[DataPiece] = []
    start = 0
    for run in runs_of(text):
        if run.origin is not None and run.origin.field != ROLE:
            pieces.append(DataPiece(start, start + run.length, run.origin, run.position))
        start += run.length
    return pieces


def data_spans(text: TracedStr) -> tuple[list[int], list[int]]:
    """Where the pieces of `data_pieces` start and where they stop."""
    starts: list[int] = []
    stops: list[int] = []
    position = 0
    for length, origin, _ in runs_of(text):
        if origin is not None and origin.field != ROLE:
            starts.append(position)
            stops.append(position + length)
        position += length
    return starts, stops


def template_gaps(pieces: list[DataPiece], length: int) -> list[tuple[int, int]]:
    """The stretches before, between and after the pieces: one more than there are pieces, some of them empty."""
    starts = [0, *(piece.stop for piece in pieces)]
    stops = [*(piece.start for piece in pieces), length]
    return list(zip(starts, stops, strict=True))
