"""`pgs-tui compare` without a screen: printed once, or written into a file."""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from pgs_tui.appearance.look import Look
from pgs_tui.arguments import ExportFormat, UsageError
from pgs_tui.comparing.comparison import Comparison
from pgs_tui.comparing.differences import differences_of
from pgs_tui.comparing.pages import as_markdown, as_text, picture_of
from pgs_tui.comparing.steps_as_csv import write_steps
from pgs_tui.comparing.table import METRICS
from pgs_tui.export.chart_as_svg import chart_as_svg
from pgs_tui.export.exports import SUFFIXES
from pgs_tui.export.files import Writing, text, write_beside, write_new
from pgs_tui.export.reading import read_source
from pgs_tui.format import plain
from pgs_tui.runs.source import Source

STANDARD_OUTPUT = "-"
FORMATS: tuple[ExportFormat, ...] = ("svg", "text", "csv", "markdown")


def print_comparison(sources: Sequence[Source], look: Look, said: TextIO) -> int:
    """Print the runs, the curves of all their metrics, and what differs in their configs."""
    comparison, configs = _read(sources), _configs(sources)
    width = min(shutil.get_terminal_size((80, 24)).columns, 200)
    said.write(as_text(comparison, differences_of(configs), comparison.metrics, look.glyphs, width))
    said.flush()
    return 0


def export_comparison(
    sources: Sequence[Source], format: ExportFormat, metric: str | None, out: str | None, look: Look, said: TextIO
) -> int:
    """Write it and say where; `out` is the new file, `-` for `said` itself. Raises UsageError."""
    chosen = _metric(metric, format)
    write = _writing(_read(sources), _configs(sources), format, chosen, look)
    if out == STANDARD_OUTPUT:
        write(said)
        said.flush()
        return 0
    what = {"csv": "steps", "markdown": "report"}.get(format, chosen.replace(".", "_"))
    try:
        suffix = SUFFIXES[format]
        path = write_new(Path(out), write) if out else write_beside(Path.cwd(), f"compared-{what}", suffix, write)
    except FileExistsError:
        raise UsageError(f"--out {out}: that file exists already; give the name of a new one") from None
    except OSError as error:
        sys.stderr.write(f"pgs-tui: not written: {error.strerror}: {error.filename or out}\n")
        return 1
    print(path, file=said)
    return 0


def _writing(comparison: Comparison, configs: Sequence[Path], format: ExportFormat, metric: str, look: Look) -> Writing:
    match format:
        case "svg":
            return text(chart_as_svg(picture_of(comparison, metric)))
        case "csv":
            return lambda file: write_steps(comparison, file)
        case "markdown":
            return text(as_markdown(comparison, differences_of(configs), comparison.metrics, look.glyphs))
        case _:
            return text(as_text(comparison, differences_of(configs), (metric,), look.glyphs, 100))


def _read(sources: Sequence[Source]) -> Comparison:
    gc.disable()  # nothing here lives longer than the program
    found = [read_source(source) for source in sources]
    for note in (note for one in found for note in one.notes):
        sys.stderr.write(f"pgs-tui: {note}\n")
    for live in (one.live for one in found if one.live.trouble is not None):
        sys.stderr.write(f"pgs-tui: {plain(live.folder)}: its log cannot be read: {plain(live.trouble or '')}\n")
    return Comparison([one.live for one in found])


def _configs(sources: Sequence[Source]) -> list[Path]:
    return [source.run.config_yaml for source in sources]


def _metric(name: str | None, format: ExportFormat) -> str:
    if format not in FORMATS:
        raise UsageError(f"compare has no --{format}; use one of {', '.join(f'--{one}' for one in FORMATS)}")
    if name is not None and format not in ("svg", "text"):
        raise UsageError("--panel is for one chart: give --svg or --text with it")
    chosen = name or "loss"
    if chosen not in METRICS:
        raise UsageError(f"--panel {chosen}: no such metric; use one of {', '.join(METRICS)}")
    return chosen
