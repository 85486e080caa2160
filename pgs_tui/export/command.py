"""`pgs-tui export`: a chart, the steps or a report of a run into a file, without a screen."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TextIO

from pgs_tui.appearance.look import Look
from pgs_tui.arguments import ExportFormat, UsageError
from pgs_tui.export.exports import Export
from pgs_tui.export.files import export_folder, write_beside, write_new
from pgs_tui.export.frame import FIELDS, SMOOTHING
from pgs_tui.export.reading import read_source
from pgs_tui.format import plain
from pgs_tui.panel_names import PanelName
from pgs_tui.runs.source import Source
from pgs_tui.view import View
from screens.dashboard.live import LiveRun

STANDARD_OUTPUT = "-"


def export(source: Source, format: ExportFormat, panel: str | None, out: str | None, look: Look, said: TextIO) -> int:
    """Write it and say where; `out` is the new file, `-` for `said` itself. Raises UsageError.

    Returns 1 where it could not be written, or nothing be read.
    """
    chart = _chart(panel, format)
    gc.disable()  # nothing here lives longer than the program
    read = read_source(source)
    if read.live.trouble is not None:
        sys.stderr.write(f"pgs-tui: nothing is written, the log cannot be read: {plain(read.live.trouble)}\n")
        return 1
    looking = read.live.looking(View(), SMOOTHING)
    made = Export(format, read.live, looking, chart, log=False, glyphs=look.glyphs)
    for note in read.notes:
        sys.stderr.write(f"pgs-tui: {note}\n")
    if out == STANDARD_OUTPUT:
        made.write(said)
        said.flush()
        return 0
    try:
        print(_written(made, read.live, out), file=said)
    except FileExistsError:
        raise UsageError(f"--out {out}: that file exists already; give the name of a new one") from None
    except OSError as error:
        sys.stderr.write(f"pgs-tui: not written: {error.strerror}: {error.filename or out}\n")
        return 1
    return 0


def _written(made: Export, live: LiveRun, out: str | None) -> Path:
    """Into the run's folder without another word; where the person is, of a run whose folder is not on this machine."""
    if out:
        return write_new(Path(out), made.write)
    folder = export_folder(live.run) if live.is_here else Path.cwd()
    return write_beside(folder, made.stem, made.suffix, made.write)


def _chart(panel: str | None, format: ExportFormat) -> PanelName:
    if panel is not None and format not in ("svg", "text"):
        raise UsageError("--panel is for one chart: give --svg or --text with it")
    name = next((one for one in FIELDS if one == (panel or "loss")), None)
    if name is None:
        raise UsageError(f"--panel {panel}: no such chart; use one of {', '.join(FIELDS)}")
    return name
