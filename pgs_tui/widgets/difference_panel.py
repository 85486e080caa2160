"""The keys in which the configs of several runs differ, and which run has which value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgs_tui.comparing.differences import Differences, KeyDifference
from pgs_tui.drawing.lines import Line, Role, Span, line, line_width, width, wrapped
from pgs_tui.widgets.panel import Panel

LONGEST_KEY = 34
GAP: Span = ("   ", "text")


class DifferencePanel(Panel):
    """A key a line where there is room for its values, else below it. Runs with the same value stand together."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._signs: Sequence[tuple[str, Role]] = ()
        self._differences: Differences | None = None
        self._first = 0

    def show(self, signs: Sequence[tuple[str, Role]], differences: Differences) -> None:
        """Show what differs between the runs, in the order of their signs."""
        self._signs, self._differences = signs, differences
        self.redraw()

    def scroll(self, lines: int) -> None:
        """Move the text."""
        rows = max(self.size.height - 2, 1)
        self._first = max(min(self._first + lines, len(self._text(self.size.width - 4)) - rows), 0)
        self.redraw()

    def title(self) -> Line:
        return line(("configs", "title"))

    def value(self) -> Line:
        if self._differences is None or self._differences.known < 2:
            return ()
        count = len(self._differences.keys)
        return line((f"{count} {'key differs' if count == 1 else 'keys differ'}", "value" if count else "dim"))

    def brief(self, width: int) -> Line:
        return line(*self.title(), ("  ", "text"), *self.value())

    def body(self, width: int, height: int) -> Sequence[Line]:
        return self._text(width)[self._first : self._first + height]

    def _text(self, cells: int) -> list[Line]:
        differences = self._differences
        if differences is None:
            return [line(("reading the configs", "dim"))]
        rows = [row for one in differences.keys for row in self._rows(one, cells)]
        if differences.known >= 2 and not rows:
            rows.append(line(("their configs have the same effect", "dim")))
        for place, why in differences.unread:
            rows += wrapped(f"{self._signs[place][0]}: {why}", cells, "warn")
        return rows

    def _rows(self, difference: KeyDifference, cells: int) -> Iterator[Line]:
        assert self._differences is not None, "there are differences"
        longest = max(width(one.key) for one in self._differences.keys)
        label = min(longest, LONGEST_KEY, cells)
        values = list(self._values(difference))
        told = line(*(span for place, one in enumerate(values) for span in ((GAP,) if place else ()) + one))
        if width(difference.key) <= label and label + 2 + line_width(told) <= cells:
            yield line((difference.key.ljust(label + 2), "dim"), *told)
            return
        yield line((difference.key, "dim"))
        for one in values:
            text = "".join(part for part, _ in one[-1:])
            signs = one[:-1]
            room = max(cells - 2 - line_width(signs), 2)
            for place, row in enumerate(wrapped(text, room) or [()]):
                yield line(("  ", "text"), *(signs if not place else ((" " * line_width(signs), "text"),)), *row)

    def _values(self, difference: KeyDifference) -> Iterator[tuple[Span, ...]]:
        """Each value behind the signs of the runs that have it."""
        places: dict[str, list[int]] = {}
        for place, one in enumerate(difference.values):
            if one is not None:
                places.setdefault(one, []).append(place)
        for one, found in places.items():
            yield (*(self._signs[place] for place in found), (" ", "text"), (one, "text"))
