"""What is seen goes into a file: a chart as a picture or as text, the steps as a table, the run as a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.drawing.lines import width as cells_of
from pgs_tui.panel_names import WORDS, PanelName
from screens.dashboard.showing import DashboardShowing

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.export.exports import Export
    from screens.dashboard.live import LiveRun


class DashboardExporting(DashboardShowing):
    """The key that writes exports; a long table is written while the dashboard goes on."""

    def action_export(self) -> None:
        """Choose what to write."""
        from screens.dialogs.choose import Choice, Choose

        live = self.live
        if live is None or live.loading:
            self.say("there is nothing to export yet: the run's log is being read" if live else "there is no run yet")
            return
        if why_not := live.why_not("files"):
            self.explain(why_not)
            return
        chart = self._chart_to_export()
        label = WORDS[chart]
        choices = [
            Choice("svg", f"{label} as a picture", "SVG"),
            Choice("text", f"{label} as text", "TXT"),
            Choice("csv", "the steps that are seen", "CSV"),
            *([Choice("gpus", "the readings of its GPUs", "CSV")] if live.history.cards else []),
            Choice("markdown", "the run as a report", "Markdown"),
        ]

        def take(format: str | None) -> None:
            if format is not None:
                self._export(live, format, chart)

        self.app.push_screen(Choose("export", choices, "svg", self.key_bar.glyphs), take)

    def _chart_to_export(self) -> PanelName:
        """The chart in focus, else the one that is alone, else the first that is shown."""
        charts = {name: pane for name, pane in self.panes.items() if pane in self.charts}
        focused = next((name for name, pane in charts.items() if pane is self.focused), None)
        alone = self.arrangement.alone
        shown = next((name for name in self.arrangement.order if name in charts and charts[name].display), None)
        return focused or (alone if alone in charts else None) or shown or "loss"

    def _export(self, live: LiveRun, format: str, chart: PanelName) -> None:
        from pgs_tui.export.exports import Export

        looking = live.looking(self.view, self.arrangement.smoothing)
        log = chart in self.arrangement.log_axes
        made = Export(format, live, looking, chart, log, self.key_bar.glyphs)
        self.say("writing…")
        self.run_worker(lambda: self._write_export(made, live), thread=True, group="export")

    def _write_export(self, made: Export, live: LiveRun) -> None:
        """Into the run's folder; where the person is, of a run whose folder is not on this machine."""
        from pgs_tui.export.files import export_folder, write_beside

        try:
            folder = export_folder(live.run) if live.is_here else Path.cwd()
            path = write_beside(folder, made.stem, made.suffix, made.write)
        except OSError as error:
            self.app.call_from_thread(self.say, f"not written: {error.strerror or error}", "bad")
        else:
            self.app.call_from_thread(self._tell_where, path)

    def _tell_where(self, path: Path) -> None:
        """In place of the keys; in a window where that is too narrow for it."""
        from screens.dialogs.confirm import Answer, Confirm

        told = f"written: {_short(path)}"
        self.say(told, "good")
        if cells_of(told) > self.size.width - 2 and self.is_current:
            self.app.push_screen(Confirm("written", str(path), [Answer("on", "Go on")], self.key_bar.glyphs))


def _short(path: Path) -> str:
    """From where the person is, if it lies there."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
