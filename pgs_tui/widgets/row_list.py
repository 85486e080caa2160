"""The rows of the data set: length, trained share, flags, and how each begins."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.drawing.lines import Line, Role, fit, joined, line, width
from pgs_tui.drawing.severities import SIGNS
from pgs_tui.format import of_bytes, percent, plain, value, whole
from pgs_tui.inspection.row_source import RowSource
from pgs_tui.inspection.shapes import OpeningState, RowSummary
from pgs_tui.visible import shown
from pgs_tui.widgets.bars import progress_bar
from pgs_tui.widgets.panel import Panel

MARGIN = 2
"""Rows that stay in sight above and below the selected one."""
BAR_CELLS = 32
PREVIEW_FROM = 8
"""Cells that a preview needs to say anything."""


class RowList(Panel):
    """Set `source`; `selected` is a place in it. What is in sight is `first` and the `room` places from there."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.source = RowSource()
        self.selected = 0
        self.first = 0
        self.said = "the inspector is starting"
        """What to say before there is an answer, unless it is known how far the opening is."""
        self.opened: OpeningState | None = None
        self.heading = "rows"

    @property
    def room(self) -> int:
        """Rows that fit."""
        return max(self.size.height - 3, 1)

    @property
    def row(self) -> RowSummary | None:
        """The selected row, if it is there and was fetched."""
        return self.source.row(self.selected)

    def show(self, source: RowSource, selected: int = 0) -> None:
        """Show other rows."""
        self.source, self.selected, self.first = source, selected, 0
        self._keep_in_sight()
        self.redraw()

    def refresh_rows(self) -> None:
        """The source has learned something."""
        if self.source.answered:
            self.selected = min(self.selected, max(self.source.matched - 1, 0))
        self._keep_in_sight()
        self.redraw()

    def select(self, place: int) -> bool:
        """Go to a place; False when it is selected already. While nothing is known of the rows, any place may be."""
        place = max(min(place, self.source.matched - 1) if self.source.answered else place, 0)
        moved, self.selected = place != self.selected, place
        self._keep_in_sight()
        self.redraw()
        return moved

    def title(self) -> Line:
        chosen = self.source.filter.written
        return joined([line((self.heading, "title")), line((plain(chosen), "accent"))], " ")

    def value(self) -> Line:
        source = self.source
        if not source.answered:
            return ()
        if not source.filter:
            return line((whole(source.matched), "value"))
        looked = f" · {percent(source.scanned / source.total)} seen" if source.scanned < source.total else ""
        return line((whole(source.matched), "value"), (f" of {whole(source.total)}{looked}", "dim"))

    def summary(self) -> Sequence[Line]:
        if not self.source.matched:
            return ()
        return [line((f"{whole(self.selected + 1)}/{whole(self.source.matched)}", "dim"))]

    def brief(self, width: int) -> Line:
        return joined([self.title(), self._row(self.row, width, True) if self.row else self.value()], "  ")

    def body(self, width: int, height: int) -> Sequence[Line]:
        source = self.source
        if not source.answered:
            return self._waiting(width)
        if not source.matched:
            return [line((self._nothing(), "dim"))]
        self._keep_in_sight(height - 1)
        places = range(self.first, min(self.first + height - 1, source.matched))
        return [self._head(width), *[self._line(place, width) for place in places]]

    def _waiting(self, cells: int) -> Sequence[Line]:
        opened = self.opened
        if opened is None or opened.name == "starting":
            return [line((self.said, "dim"))]
        if opened.share is None:
            return [line((plain(opened.name), "dim"))]
        bar = progress_bar(opened.share, min(cells - 6, BAR_CELLS))
        way = joined([bar, line((percent(opened.share), "text"))], " ")
        amount = line((of_bytes(opened.done, opened.total), "dim"))
        return [line((plain(opened.name), "text")), way, amount]

    def _nothing(self) -> str:
        if not self.source.filter:
            return "there are no rows"
        more = " so far" if self.source.scanned < self.source.total else ""
        return f"no row matches{more}; Esc shows all again"

    def _keep_in_sight(self, room: int | None = None) -> None:
        room = room or self.room
        margin = min(MARGIN, (room - 1) // 2)
        lowest, highest = self.selected + margin - room + 1, self.selected - margin
        self.first = min(max(self.first, lowest), highest)
        self.first = min(max(self.first, 0), max(self.source.matched - room, 0))

    @property
    def _digits(self) -> int:
        return max(len(whole(max(self.source.total - 1, 0))), 3)

    def _head(self, cells: int) -> Line:
        measure = "loss" if self._is_spike else "trained"
        text = f"  {'row':>{self._digits}} {'tokens':>7} {measure:>7}"
        return fit(line((text, "dim")), cells)

    @property
    def _is_spike(self) -> bool:
        known = self.row or self.source.row(self.first)
        return known is not None and known.index is not None

    def _line(self, place: int, cells: int) -> Line:
        row = self.source.row(place)
        chosen = place == self.selected
        marker = line(("› " if chosen else "  ", "focus"))
        if row is None:
            return (*marker, *line((f"{'…':>{self._digits}}", "dim")))
        return (*marker, *self._row(row, cells - 2, chosen))

    def _row(self, row: RowSummary | None, cells: int, chosen: bool) -> Line:
        if row is None:
            return ()
        ink: Role = "value" if chosen else "text"
        sign, role = SIGNS.get(row.severity or "", (" ", ink))
        tokens = whole(row.num_tokens) if row.num_tokens is not None else "·"
        number = line((f"{whole(row.row):>{self._digits}} ", ink), (f"{tokens:>7} ", "text"))
        known = (*number, *self._measure(row), *line((f" {sign} ", role)))
        room = cells - sum(width(text) for text, _ in known)
        if room < PREVIEW_FROM:
            return known
        return (*known, *self._about(row, chosen))

    def _about(self, row: RowSummary, chosen: bool) -> Line:
        """The worst of its flags, and how it begins."""
        preview = shown(row.preview, self.glyphs == "ascii")
        if self._is_spike:
            return line((f"{plain(row.file.rpartition('/')[2])}:{row.line} ", "dim"), (preview, "dim"))
        return line((preview, "text" if chosen else "dim"))

    def _measure(self, row: RowSummary) -> Line:
        if row.index is not None:
            return line((f"{value(row.mean_loss):>7}", "value"))
        if row.num_tokens is None or row.loss_tokens is None:
            return line((f"{'·':>7}", "dim"))
        share = row.loss_tokens / row.num_tokens if row.num_tokens else 0.0
        return line((f"{percent(share):>7}", "good" if row.loss_tokens else "warn"))
