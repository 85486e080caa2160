"""What the GPUs do over time: one strip for each reading of each card, and where it was throttled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from pgs_tui.drawing.lines import Line, Role, Span, fit, joined, line, merged
from pgs_tui.widgets.panel import Panel

if TYPE_CHECKING:  # the first frame has no curve
    from pgs_tui.drawing.plot_frame import Sight
    from pgs_tui.drawing.raster import DotSpan
    from pgs_tui.history.series import Columns

LABEL_CELLS, SHORT_LABEL_CELLS = 16, 10
NARROW = 40
"""Cells below which the short labels are taken."""
THROTTLED = "▲"


@dataclass(frozen=True, slots=True)
class Strip:
    """One reading over time. `columns` reduces it to the number asked for, and marks where the card was throttled.

    `limits` are the values at the foot and the top, widened where a reading lies outside.
    """

    name: str
    now: str
    unit: str
    limits: tuple[float, float]
    columns: Callable[[int], Columns]


@dataclass(frozen=True, slots=True)
class Card:
    """One GPU; `alarm` says what is wrong with it: throttled and why, or lost."""

    name: str
    strips: tuple[Strip, ...] = ()
    alarm: str = ""


@dataclass(frozen=True, slots=True)
class GpuView:
    """What the panel shows: the cards, over the same stretch as the charts."""

    cards: tuple[Card, ...] = ()
    sight: Sight | None = None
    empty: str = "no reading of a GPU yet"


class GpuPanel(Panel):
    """As many strips as there are rows: of few rows each card gets one, of many each reading several."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._view = GpuView()
        self._body: list[Line] = []
        self._body_key: tuple[object, ...] = ()

    def show(self, view: GpuView) -> None:
        """Show another state of the GPUs."""
        self._view, self._body_key = view, ()
        self.redraw()

    def title(self) -> Line:
        cards = self._view.cards
        if len(cards) == 1:
            return line((cards[0].name, "title"))
        return line((f"{len(cards)} GPUs" if cards else "GPU", "title"))

    def value(self) -> Line:
        """The first reading of every card."""
        words = [
            line((f"{card.strips[0].now} {card.strips[0].unit}", "value")) for card in self._view.cards if card.strips
        ]
        return joined(words[:4], "  ")

    def summary(self) -> Sequence[Line]:
        alarms = [line((self._named(card), "warn")) for card in self._view.cards if card.alarm]
        if alarms:
            return [joined(alarms, " · "), alarms[0]]
        rest = [
            line((f"{strip.name} ", "dim"), (f"{strip.now} {strip.unit}", "text"))
            for card in self._view.cards[:1]
            for strip in card.strips[1:]
        ]
        return [joined(rest[:count], " · ") for count in range(len(rest), 0, -1)]

    def body(self, width: int, height: int) -> Sequence[Line]:
        from pgs_tui.drawing.plot_frame import in_the_middle

        view = self._view
        if not view.cards or view.sight is None:
            return in_the_middle(view.empty, width, height)
        key = (width, height, self.glyphs)
        if key != self._body_key:
            self._body_key, self._body = key, self._strips(width, height, view.sight)
        return self._body

    def _named(self, card: Card) -> str:
        return card.alarm if len(self._view.cards) == 1 else f"{card.name}: {card.alarm}"

    def _strips(self, width: int, height: int, sight: Sight) -> list[Line]:
        with_ticks = height >= 4
        room = height - 1 if with_ticks else height
        label_cells = SHORT_LABEL_CELLS if width < NARROW else LABEL_CELLS
        cells = max(width - label_cells, 0)
        chosen = self._chosen(room)
        rows: list[Line] = []
        for place, (card, strip) in enumerate(chosen):
            high = room * (place + 1) // len(chosen) - room * place // len(chosen)
            rows += self._rows(card, strip, label_cells, cells, high, sight)
        if with_ticks and chosen:
            rows.append(_ticks(sight, label_cells, cells))
        return rows

    def _chosen(self, rows: int) -> list[tuple[Card, Strip]]:
        """The strips that there are rows for, the first reading of every card before the second of any."""
        cards = [card for card in self._view.cards if card.strips]
        deepest = max((len(card.strips) for card in cards), default=0)
        by_worth = [
            (card, card.strips[place]) for place in range(deepest) for card in cards if place < len(card.strips)
        ]
        kept = {(id(card), id(strip)) for card, strip in by_worth[: max(rows, 0)]}
        return [(card, strip) for card in cards for strip in card.strips if (id(card), id(strip)) in kept]

    def _rows(self, card: Card, strip: Strip, label_cells: int, cells: int, high: int, sight: Sight) -> list[Line]:
        from pgs_tui.drawing.raster import GLYPHS, Raster

        glyphs = GLYPHS[self.glyphs]
        columns = strip.columns(cells * glyphs.columns)
        low, top = _limits(columns, strip.limits)
        raster = Raster(glyphs, cells, high)
        dots = high * glyphs.rows - 1
        raster.draw([_dots(one, other, low, top, dots) for one, other in zip(columns.low, columns.high, strict=True)])
        grid: list[list[Span]] = [
            [(sign, "accent" if sign != " " else "text") for sign in row] for row in raster.rows()
        ]
        for column in columns.marks if strip is card.strips[0] else ():
            if grid and column // glyphs.columns < cells:
                grid[0][column // glyphs.columns] = (THROTTLED, "warn")
        self._put_cursor(grid, sight.column(cells))
        return [
            (*fit(label, label_cells), *merged(row))
            for label, row in zip(self._labels(card, strip, (low, top), high, label_cells), grid, strict=True)
        ]

    def _labels(self, card: Card, strip: Strip, limits: tuple[float, float], high: int, cells: int) -> list[Line]:
        """What the strip is, then its limits, in as many rows as it has."""
        several = len(self._view.cards) > 1
        name = f"{self._view.cards.index(card)} {strip.name}" if several else strip.name
        role: Role = "warn" if card.alarm else "text"
        named = line((f"{name} ", "dim"), (f"{strip.now} {strip.unit}" if cells >= LABEL_CELLS else strip.now, role))
        span = line((f"{limits[0]:.0f}-{limits[1]:.0f} {strip.unit}", "dim"))
        return [named, *([span] if high > 1 else []), *([()] * max(high - 2, 0))]

    def _put_cursor(self, grid: list[list[Span]], column: int | None) -> None:
        if column is None:
            return
        for row in grid:
            sign, _ = row[column]
            row[column] = ("│", "accent") if sign == " " else (sign, "cursor")


def _limits(columns: Columns, usual: tuple[float, float]) -> tuple[float, float]:
    """The usual limits, and all values within them."""
    low, high = columns.extent()
    if low > high:
        return usual
    bottom, top = min(usual[0], low), max(usual[1], high)
    return (bottom, top) if top > bottom else (bottom, bottom + 1)


def _dots(low: float, high: float, bottom: float, top: float, dots: int) -> DotSpan:
    if low > high or not isfinite(low) or not isfinite(high):
        return None
    scale = dots / (top - bottom)
    return round(dots - (high - bottom) * scale), round(dots - (low - bottom) * scale)


def _ticks(sight: Sight, label_cells: int, cells: int) -> Line:
    """The x axis: its first and its last position."""
    first, *_, last = sight.axis.ticks(max(cells, 1))
    gap = cells - len(first[1]) - len(last[1])
    words = f"{first[1]}{' ' * gap}{last[1]}" if gap > 0 else first[1][:cells]
    return line((" " * label_cells, "text"), (words, "dim"))
