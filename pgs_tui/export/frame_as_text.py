"""A frame as text: the panels of the dashboard one below the other, without a screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from engine.incidents import Incident
from pgs_tui.drawing.lines import Line, fit, line, to_ascii, wrapped
from pgs_tui.export.frame import CHART_ROWS, EDGES, SIDES, ChartFrame, Frame, Sheet
from pgs_tui.panel_names import WORDS
from pgs_tui.widgets.alert_panel import AlertPanel
from pgs_tui.widgets.banner import Banner
from pgs_tui.widgets.chart_panel import ChartPanel
from pgs_tui.widgets.drawn import Drawn
from pgs_tui.widgets.gpu_panel import GpuPanel
from pgs_tui.widgets.memory_panel import MemoryPanel
from pgs_tui.widgets.parts_panel import PartsPanel
from pgs_tui.widgets.rank_panel import RankPanel, RanksView
from pgs_tui.widgets.status_line import StatusLine

PARTS_ROWS, CARD_ROWS, MEMORY_ROWS = 9, 3, 4
MOST_RANK_ROWS = 16
MOST_BANNER_ROWS = 12
MOST_INCIDENTS = 12
"""Of more incidents the newest are listed, and the open ones before those that are over."""


def frame_as_text(frame: Frame, in_colour: bool = False) -> tuple[Line, ...]:
    """The frame as lines of at most its sheet's width. Without colours the parts of a bar are told by letters."""
    sheet = frame.sheet
    rows = chain(
        _drawn(_status(frame), sheet.width, 1),
        _banner(frame),
        *(
            _beside(frame.charts[place : place + sheet.across], sheet)
            for place in range(0, len(frame.charts), sheet.across)
        ),
        _parts(frame, in_colour),
        _cards(frame),
        _ranks(frame),
        _memory(frame, in_colour),
        _alerts(frame),
        *(wrapped(note, sheet.width, "warn") for note in frame.notes),
    )
    return tuple(to_ascii(row) if sheet.glyphs == "ascii" else row for row in rows)


def _drawn(panel: Drawn, width: int, height: int) -> Iterator[Line]:
    yield from (fit(row, width) for row in panel.draw(width, height)[:height])


def _status(frame: Frame) -> StatusLine:
    panel = StatusLine(id="status")
    panel.show(frame.status)
    return panel


def _banner(frame: Frame) -> Iterator[Line]:
    if frame.told is None:
        return iter(())
    panel = Banner(id="banner")
    panel.show(*frame.told)
    return _drawn(panel, frame.sheet.width, MOST_BANNER_ROWS)


def _charts(frame: Frame) -> Iterator[Line]:
    across = frame.sheet.across
    for first in range(0, len(frame.charts), across):
        yield from _beside(frame.charts[first : first + across], frame.sheet)


def _beside(charts: Sequence[ChartFrame], sheet: Sheet) -> Iterator[Line]:
    """A row of charts."""
    drawn = [list(_chart(chart, sheet)) for chart in charts]
    for parts in zip_longest(*drawn, fillvalue=line()):
        yield tuple(chain.from_iterable(parts))


def _chart(chart: ChartFrame, sheet: Sheet) -> Iterator[Line]:
    panel = ChartPanel(WORDS[chart.name], id=chart.name)
    panel.glyphs = sheet.glyphs
    panel.show(chart.view)
    return _drawn(panel, chart.width, CHART_ROWS)


def _parts(frame: Frame, in_colour: bool) -> Iterator[Line]:
    if not frame.parts.shares:
        return iter(())
    panel = PartsPanel(id="parts")
    panel.glyphs, panel.plain_colours = frame.sheet.glyphs, not in_colour
    panel.show(frame.parts)
    return _drawn(panel, frame.sheet.width, PARTS_ROWS)


def _cards(frame: Frame) -> Iterator[Line]:
    strips = sum(len(card.strips) for card in frame.cards.cards)
    if not strips:
        return iter(())
    panel = GpuPanel(id="gpu")
    panel.glyphs = frame.sheet.glyphs
    panel.show(frame.cards)
    return _drawn(panel, frame.sheet.width, strips * CARD_ROWS + EDGES + 1)


def _ranks(frame: Frame) -> Iterator[Line]:
    if not frame.ranks:
        return iter(())
    panel = RankPanel(id="ranks")
    panel.glyphs = frame.sheet.glyphs
    panel.show(RanksView(frame.ranks))
    return _drawn(panel, frame.sheet.width, min(len(frame.ranks) + 1, MOST_RANK_ROWS) + EDGES)


def _memory(frame: Frame, in_colour: bool) -> Iterator[Line]:
    panel = MemoryPanel(id="memory")
    panel.glyphs, panel.plain_colours = frame.sheet.glyphs, not in_colour
    panel.show(frame.memory)
    return _drawn(panel, frame.sheet.width, MEMORY_ROWS)


def _alerts(frame: Frame) -> Iterator[Line]:
    panel = _AlertList(frame.incidents, frame.sheet)
    return _drawn(panel, frame.sheet.width, len(panel.body(frame.sheet.width - SIDES, 0)) + EDGES)


class _AlertList(AlertPanel):
    """All that happened, and in full what is still open: what it means and what to try."""

    def __init__(self, incidents: tuple[Incident, ...], sheet: Sheet) -> None:
        super().__init__(id="alerts")
        self.glyphs = sheet.glyphs
        self.show(incidents)

    def body(self, width: int, height: int) -> Sequence[Line]:
        chosen = sorted(self._incidents, key=lambda one: one.open)[-MOST_INCIDENTS:]
        rows: list[Line] = []
        for one in reversed(chosen):
            rows += [self._row(one), *(self._explanation(one, width) if one.open else ())]
        more = len(self._incidents) - len(chosen)
        return [*rows, *([line((f"{more} more", "dim"))] if more else [])] or [line(("none", "dim"))]
