"""All that a run shows at one moment, made once: its text and its JSON tell the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.events import End, Eval, Gpu
from engine.events.rates import Rates, rates_of
from engine.incidents import Incident
from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.chart import Curves, dot_columns
from pgs_tui.drawing.lines import Role
from pgs_tui.export.reading import ReadRun
from pgs_tui.history.ranks import Rank
from pgs_tui.panel_names import PanelName
from pgs_tui.room import THIN, WIDE
from pgs_tui.view import View
from pgs_tui.widgets.chart_panel import ChartView
from pgs_tui.widgets.gpu_panel import GpuView
from pgs_tui.widgets.memory_panel import MemoryView
from pgs_tui.widgets.parts_panel import PartsView
from pgs_tui.widgets.status_line import Status
from screens.dashboard.live import LiveRun
from screens.dashboard.readings.looking import Looking

SMOOTHING = 0.98
CHART_ROWS = 12
SIDES, EDGES = 4, 2
"""Cells and rows that the frame of a panel takes."""
FIELDS: dict[PanelName, str] = {
    "loss": "loss",
    "grad_norm": "grad_norm",
    "tok_s": "tok_s",
    "dt": "dt",
    "lr": "lr",
    "moved": "moved",
    "memory_over_steps": "mem.peak",
}
"""The field of a step that each chart draws."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a frame is drawn on: cells across, and with which characters."""

    width: int = 80
    glyphs: GlyphName = "braille"

    @property
    def across(self) -> int:
        """How many charts stand beside each other."""
        return 1 if self.width < THIN else 2 if self.width < WIDE else 3

    def chart_width(self, place: int, count: int) -> int:
        """The cells of one of `count` charts; the last one of a row takes what is left of it."""
        share = self.width // self.across
        is_last = place == count - 1 or place % self.across == self.across - 1
        return self.width - share * (place % self.across) if is_last else share


@dataclass(frozen=True, slots=True)
class ChartFrame:
    """One chart: its newest value, and its curves as they are drawn; both None before the first step."""

    name: PanelName
    width: int
    value: float | None
    view: ChartView
    curves: Curves | None


@dataclass(frozen=True, slots=True)
class Frame:
    """A run at one moment. Durations are seconds, memory is GiB."""

    run: str
    path: str
    status: Status
    outcome: str
    age: float | None
    """How old the newest event is."""
    told: tuple[str, str, Role] | None
    """What has to be said in full: how it ended or what goes on, and what is known about it."""
    charts: tuple[ChartFrame, ...]
    tokens: int
    rates: Rates | None
    """Tokens a second of the newest step with padding, and of those that have loss."""
    clip_scale: float | None
    """By what clipping multiplied the gradients of the newest step."""
    newest_eval: Eval | None
    best_eval: Eval | None
    checkpoint: str | None
    end: End | None
    memory: MemoryView
    parts: PartsView
    cards: GpuView
    gpus: tuple[Gpu, ...]
    ranks: tuple[Rank, ...]
    incidents: tuple[Incident, ...]
    notes: tuple[str, ...]
    sheet: Sheet


def frame_of(read: ReadRun, sheet: Sheet) -> Frame:
    """The run as it was read, for such a sheet."""
    live, history = read.live, read.live.history
    looking = live.looking(View(), SMOOTHING)
    shown = [name for name in FIELDS if name != "memory_over_steps" or history.peak is not None]
    return Frame(
        run=live.run_id,
        path=live.folder,
        status=live.status(),
        outcome=live.outcome,
        age=live.age,
        told=live.in_full(read.last_words),
        charts=tuple(
            _chart(live, looking, name, sheet.chart_width(place, len(shown)), sheet.glyphs)
            for place, name in enumerate(shown)
        ),
        tokens=history.tokens,
        rates=rates_of(history.step) if history.step is not None else None,
        clip_scale=history.step.clip_scale if history.step is not None else None,
        newest_eval=history.evals.newest,
        best_eval=history.best,
        checkpoint=history.checkpoint.path if history.checkpoint else None,
        end=history.end,
        memory=live.memory(),
        parts=live.parts(looking),
        cards=live.cards(looking),
        gpus=tuple(gpu for _, gpu in sorted(history.gpus.items())),
        ranks=live.ranks().ranks,
        incidents=live.incidents(),
        notes=read.notes,
        sheet=sheet,
    )


def _chart(live: LiveRun, looking: Looking, name: PanelName, width: int, glyphs: GlyphName) -> ChartFrame:
    view, value = live.chart(name, looking), live.history.series[FIELDS[name]].last
    if view.curves is None:
        return ChartFrame(name, width, value, view, None)
    curves = view.curves(dot_columns(width - SIDES, CHART_ROWS - EDGES, glyphs))
    return ChartFrame(name, width, value, replace(view, curves=_always(curves)), curves)


def _always(curves: Curves) -> Callable[[int], Curves]:
    """Curves that were reduced for their place already."""
    return lambda columns: curves
