"""The part of a layout that is in sight, so many lines of the screen from a row on."""

from __future__ import annotations

from collections.abc import Iterator

from pgs_tui.inspection.layout import Layout, Place, Row


class Viewport:
    """`top` is the first row in sight; `height` counts lines of the screen."""

    def __init__(self, layout: Layout, height: int) -> None:
        self.layout = layout
        self.height = height
        self.top = layout.first

    def rows(self) -> Iterator[Row]:
        """The rows that are in sight, from the top; the last one may be cut off."""
        place, left = self.top, self.height
        while left > 0:
            row = self.layout.row(place)
            yield row
            left -= lines_of(row)
            below = self.layout.walk(place, 1)
            if below == place:
                return
            place = below

    @property
    def share(self) -> float | None:
        """How far down the text the view is, None where all of it is in sight."""
        rows = list(self.rows())
        last = self.layout.walk(self.top, len(rows) - 1)
        if last == self.layout.last and sum(lines_of(row) for row in rows) <= self.height:
            return None if self.top == self.layout.first else 1.0
        return rows[-1].stop / max(self.layout.stop, 1)

    def offset(self, position: int) -> int:
        """Rows from the top down to the character."""
        return self.layout.distance(self.top, self.layout.locate(position), max(self.height - 1, 0))

    def put(self, position: int, offset: int) -> None:
        """Scroll so that the character is that many rows below the top."""
        self.top = self.layout.walk(self.layout.locate(position), -offset)
        self.reveal(position)

    def scroll(self, rows: int) -> None:
        """Move down by so many rows, or up when negative."""
        self.top = self.layout.walk(self.top, rows)

    def reveal(self, position: int) -> None:
        """Scroll as little as needed to have the character in sight, with the title where that is the line above.

        No room is left below the last row while there is something above.
        """
        place = self.layout.locate(position)
        first = self._with_title(place)
        if first < self.top:
            self.top = first
        else:
            self.top = max(self.top, self._first_with_last(place))
        self.top = min(self.top, self._first_with_last(self._last_near()))

    def reveal_with_rest(self, position: int) -> None:
        """The same, and some of what follows the character."""
        if self.offset(position) > self.height // 2:
            self.put(position, self.height // 3)
        else:
            self.reveal(position)

    def _with_title(self, place: Place) -> Place:
        above = self.layout.walk(place, -1)
        return above if self.layout.row(above).kind == "title" and self.height > 2 else place

    def _first_with_last(self, last: Place) -> Place:
        """The first row in sight when this row is the last one that fits."""
        first, left = last, self.height - lines_of(self.layout.row(last))
        while (above := self.layout.walk(first, -1)) != first:
            left -= lines_of(self.layout.row(above))
            if left < 0:
                break
            first = above
        return first

    def _last_near(self) -> Place:
        """The last row of all, or one so far down that the view is full anyway."""
        return self.layout.walk(self.top, max(self.height, 1))


def lines_of(row: Row) -> int:
    """Lines that a row takes on the screen."""
    return 2 if row.kind == "boxes" else 1
