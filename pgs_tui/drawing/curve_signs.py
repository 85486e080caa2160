"""The signs of further curves on their own cells, so that they are told apart without a colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pgs_tui.drawing.curves import Other
from pgs_tui.drawing.lines import Span

EVERY = 18
"""About one sign of each curve in so many cells."""

Masks = Sequence[bytearray]
"""The rows of cells of a curve, not 0 where it has a dot."""


def put_curve_signs(cells: list[list[Span]], masks: Sequence[Masks], others: Sequence[Other]) -> None:
    """Each curve's sign here and there on it, where it is seen, and at its end. Signs of several do not meet.

    The curve over all others has the first choice.
    """
    taken: set[tuple[int, int]] = set()
    signed = [(one, place) for place, one in enumerate(others) if one.sign]
    for number, (other, place) in reversed(list(enumerate(signed))):
        drawn = [column for column, some in enumerate(map(any, zip(*masks[place], strict=True))) if some]
        for stretch in _stretches(drawn, number / len(signed)):
            spot = next((spot for spot in _spots(cells, masks[place], stretch, other) if spot not in taken), None)
            if spot is not None:
                row, column = spot
                cells[row][column] = (other.sign, other.role)
                taken |= {(row, column + near) for near in (-1, 0, 1)}


def _stretches(drawn: Sequence[int], shift: float) -> Iterator[Sequence[int]]:
    """The columns in which one sign is to stand each; those of the end come from the right."""
    if not drawn:
        return
    yield drawn[-1 : -EVERY // 2 : -1]
    first, last = drawn[0], drawn[-1] - EVERY // 2
    begins = [first + int((count + shift) * EVERY) for count in range((last - first) // EVERY + 1)]
    for begin, end in pairwise([*begins, last]):
        stretch = [column for column in drawn if begin <= column < min(begin + EVERY // 2, end)]
        if stretch:
            yield stretch


def _spots(
    cells: Sequence[Sequence[Span]], masks: Masks, columns: Sequence[int], other: Other
) -> Iterator[tuple[int, int]]:
    """Cells of these columns in which the curve is seen, from the middle of each column."""
    for column in columns:
        rows = [row for row, line in enumerate(masks) if line[column] and cells[row][column][1] == other.role]
        if rows:
            yield rows[len(rows) // 2], column
