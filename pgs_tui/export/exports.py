"""What can be taken out of a run, each as something to write into a new file."""

from __future__ import annotations

from collections.abc import Callable

from pgs_tui.appearance.look import GlyphName
from pgs_tui.export.chart_as_svg import chart_as_svg
from pgs_tui.export.chart_as_text import chart_as_text
from pgs_tui.export.files import Writing, text
from pgs_tui.export.gpus_as_csv import gpu_sheet_of
from pgs_tui.export.picture import picture_of
from pgs_tui.export.report import report_of
from pgs_tui.export.steps_as_csv import sheet_of
from pgs_tui.panel_names import PanelName
from screens.dashboard.live import LiveRun
from screens.dashboard.readings.looking import Looking

SUFFIXES = {"svg": "svg", "text": "txt", "csv": "csv", "gpus": "csv", "markdown": "md"}
"""By the format."""


class Export:
    """One export of a run as it is looked at: `stem` and `suffix` of its file, and `write`, for any thread."""

    def __init__(
        self, format: str, live: LiveRun, looking: Looking, chart: PanelName, log: bool, glyphs: GlyphName
    ) -> None:
        """`chart` is for the formats of one chart, with a logarithmic axis where `log` is set."""
        makers: dict[str, Callable[[], Writing]] = {
            "svg": lambda: text(chart_as_svg(picture_of(live, looking, chart, log))),
            "text": lambda: text(chart_as_text(picture_of(live, looking, chart, log), glyphs)),
            "csv": lambda: sheet_of(live.history, looking, live.run.events).write,
            "gpus": lambda: gpu_sheet_of(live.history, looking, live.run.events).write,
            "markdown": lambda: text(report_of(live, looking, glyphs)),
        }
        what = {"svg": chart, "text": chart, "csv": "steps", "gpus": "gpus", "markdown": "report"}[format]
        last = live.history.last_step
        self.stem = f"{what}-at-{last}" if last is not None else what
        self.suffix = SUFFIXES[format]
        self.write = makers[format]()
