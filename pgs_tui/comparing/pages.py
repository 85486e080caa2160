"""A comparison as a page of text or Markdown, and its chart as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgs_tui.appearance.look import GlyphName
from pgs_tui.comparing.comparison import Comparison
from pgs_tui.comparing.differences import Differences
from pgs_tui.comparing.table import wording_of
from pgs_tui.comparing.words import Row, difference_rows, difference_words, padded, run_rows
from pgs_tui.export.chart_as_text import HEIGHT, chart_as_text
from pgs_tui.export.picture import Picture
from screens.compare.reading import chart_of
from screens.dashboard.readings.looking import AXIS_WORDS

CHART_HEIGHT = 16


def picture_of(comparison: Comparison, metric: str) -> Picture:
    """The curves of the metric, with the runs' signs and names below them."""
    view = chart_of(comparison, metric)
    return Picture(
        run=f"{len(comparison.runs)} runs",
        name="loss",
        value="",
        note=view.note,
        summary=view.summary[0],
        x_words=AXIS_WORDS[comparison.view.axis],
        log=comparison.shown.log,
        curves=view.curves,
        empty=view.empty,
        heading=wording_of(metric).name,
    )


def as_text(
    comparison: Comparison, differences: Differences, metrics: Sequence[str], glyphs: GlyphName, width: int
) -> str:
    """The runs, their curves, and what differs in their configs."""
    height = HEIGHT if len(metrics) == 1 else CHART_HEIGHT
    lines = [*padded(run_rows(comparison, metrics[0])), ""]
    for metric in metrics:
        lines += [*chart_as_text(picture_of(comparison, metric), glyphs, width, height).splitlines()[1:], ""]
    lines += [*padded(difference_rows(comparison, differences)), *difference_words(comparison, differences)]
    return "".join(f"{one}\n" for one in lines)


def as_markdown(comparison: Comparison, differences: Differences, metrics: Sequence[str], glyphs: GlyphName) -> str:
    """The same as a report."""
    return "\n".join(_report(comparison, differences, metrics, glyphs)) + "\n"


def _report(
    comparison: Comparison, differences: Differences, metrics: Sequence[str], glyphs: GlyphName
) -> Iterator[str]:
    yield f"# {len(comparison.runs)} runs compared\n"
    for run in comparison.runs:
        yield f"- **{run.sign}** `{run.live.folder}`"
    yield ""
    for metric in metrics:
        yield f"## {wording_of(metric).name}\n"
        yield from _table(run_rows(comparison, metric))
        yield f"\n```\n{chart_as_text(picture_of(comparison, metric), glyphs, height=CHART_HEIGHT).rstrip()}\n```\n"
    yield "## Configs\n"
    yield from _table(difference_rows(comparison, differences))
    yield from difference_words(comparison, differences)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    for place, row in enumerate(rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        if place == 0:
            yield "|" + "---|" * len(row)
