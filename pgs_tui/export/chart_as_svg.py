"""A chart as SVG, for a browser or a document; readable on light and on dark paper."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from pgs_tui.drawing.chart import limits_of
from pgs_tui.drawing.chart_layers import BELOW, CLIPPED, MARKS, OTHER_MARK
from pgs_tui.drawing.curves import ChartMark, Curves
from pgs_tui.drawing.ticks import XAxis, value_ticks
from pgs_tui.export.picture import Picture
from pgs_tui.export.svg_curves import Ground, band, middle, outside
from pgs_tui.export.svg_others import further_curves
from pgs_tui.format import plain, value

WIDTH, HEIGHT = 960, 440
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 84, 58
COLUMNS = WIDTH - LEFT - RIGHT
TICK_ROWS, TICK_CELLS = 12, 100
"""The canvas in cells of a terminal, by which ticks are chosen."""
LETTER, GAP = 7.2, 8
"""Pixels that a letter takes at the most usual, and those between two labels."""
SEVERITIES = ("info", "warning", "error", "critical")

STYLE = """
  svg { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 12px; }
  text { fill: #737b87; } .title { font-size: 16px; font-weight: 600; } .value { font-size: 16px; font-weight: 600; }
  .grid { stroke: #8a93a0; stroke-opacity: .28; } .axis { stroke: #8a93a0; fill: none; }
  .raw { fill: #6f9bd6; stroke: #6f9bd6; stroke-width: 1; opacity: .75; }
  .smooth { fill: none; stroke: #2f7be0; stroke-width: 2; stroke-linejoin: round; }
  .other { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .sign { font-weight: 600; }
  .point { fill: #2f7be0; } .best { fill: #10927a; }
  .reference { stroke: #10927a; stroke-dasharray: 6 4; fill: none; }
  .cursor { stroke: #737b87; stroke-width: 1.5; }
  .mark { stroke-dasharray: 2 3; } .info { stroke: #8a93a0; } .warning { stroke: #c77414; }
  .error, .critical { stroke: #d0394f; }
  text.info { fill: #737b87; stroke: none; } text.warning { fill: #c77414; stroke: none; }
  text.error, text.critical { fill: #d0394f; stroke: none; }
"""


def chart_as_svg(picture: Picture) -> str:
    """The picture as one SVG document without a background."""
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
            f' role="img" aria-label="{_attribute(f"{picture.title} of {picture.run}")}">',
            f"<style>{STYLE}</style>",
            *_words(picture),
            *_drawing(picture),
            "</svg>\n",
        )
    )


def _words(picture: Picture) -> Iterator[str]:
    yield _text(LEFT, 24, picture.title, "title")
    yield _text(WIDTH - RIGHT, 24, picture.value, "value", "end")
    yield _text(LEFT, 42, " · ".join(part for part in (picture.run, picture.note) if part))
    yield _text(LEFT, HEIGHT - 8, picture.summary)
    yield _text(WIDTH - RIGHT, HEIGHT - 8, picture.x_words, anchor="end")


def _drawing(picture: Picture) -> Iterator[str]:
    curves = picture.curves(COLUMNS) if picture.curves is not None else None
    limits = limits_of(curves, picture.log, None) if curves is not None else None
    if curves is None or limits is None:
        words = picture.empty if curves is None else "no value yet"
        yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT / 2, words, anchor="middle")
        return
    ground = Ground(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM, curves.raw.start, curves.raw.end, limits)
    inside = f'x="{LEFT}" y="{TOP}" width="{ground.right - LEFT}" height="{ground.bottom - TOP}"'
    yield f'<clipPath id="inside"><rect {inside}/></clipPath>'
    yield from _grid(ground, curves)
    yield '<g clip-path="url(#inside)">'
    yield from further_curves(curves.others, ground)
    yield f'<path class="raw" d="{band(curves.raw, ground)}"/>'
    if curves.smooth is not None:
        yield f'<path class="smooth" d="{middle(curves.smooth, ground)}"/>'
    yield from _reference(ground, curves)
    yield "</g>"
    yield from _clipped(ground, curves)
    yield from _points(ground, curves)
    yield from _marks(ground, curves)
    if curves.cursor is not None and ground.shows(curves.cursor):
        x = ground.x(curves.cursor)
        yield f'<line class="cursor" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{ground.bottom}"/>'


def _grid(ground: Ground, curves: Curves) -> Iterator[str]:
    for place, label in zip(*value_ticks(ground.limits, TICK_ROWS), strict=True):
        y = ground.y_of_place(place)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{ground.right}" y2="{y:.1f}"/>'
        yield _text(LEFT - 8, y + 4, label.strip(), anchor="end")
    for position, words in XAxis(curves.raw.start, curves.raw.end, curves.labels).ticks(TICK_CELLS):
        x = ground.x(position)
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{ground.bottom}"/>'
        yield _text(x, ground.bottom + 18, words, anchor="middle")
    yield f'<path class="axis" d="M{LEFT},{TOP} V{ground.bottom} H{ground.right}"/>'


def _reference(ground: Ground, curves: Curves) -> Iterator[str]:
    if curves.reference is None:
        return
    y = ground.y(curves.reference)
    yield f'<path class="reference" d="M{LEFT},{y:.1f} H{ground.right}"><title>expected</title></path>'


def _points(ground: Ground, curves: Curves) -> Iterator[str]:
    best = {mark.x for mark in curves.marks if mark.kind == "best"}
    for x, number in curves.points:
        left, top = ground.x(x), ground.y(number)
        kind, size = ("best", 7) if x in best else ("point", 5)
        diamond = f"M{left:.1f},{top - size:.1f} l{size},{size} l-{size},{size} l-{size},-{size} z"
        word = "best evaluation" if kind == "best" else "evaluation"
        yield f'<path class="{kind}" d="{diamond}"><title>{word} {value(number)}</title></path>'


def _clipped(ground: Ground, curves: Curves) -> Iterator[str]:
    """A sign at the edge where raw values leave the plot."""
    for x, is_above in outside(curves.raw, ground):
        y = TOP + 10 if is_above else ground.bottom - 3
        yield _text(x, y, CLIPPED if is_above else BELOW, "warning", "middle")


def _marks(ground: Ground, curves: Curves) -> Iterator[str]:
    """A thin line and a sign each; words of the gravest, and of the others where they do not run into those."""
    taken: list[tuple[float, float]] = []
    for mark in sorted(curves.marks, key=lambda one: (-SEVERITIES.index(_severity(one)), one.x)):
        if not ground.shows(mark.x):
            continue
        x, severity, label = ground.x(mark.x), _severity(mark), plain(mark.label)
        yield (
            f'<line class="mark {severity}" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{ground.bottom}">'
            f"<title>{escape(label)}</title></line>"
        )
        yield _text(x, TOP - 6, MARKS.get(mark.kind, OTHER_MARK)[0], severity, "middle")
        width = LETTER * len(label)
        left = min(x, WIDTH - width)
        if all(left > end or left + width < begin for begin, end in taken):
            yield _text(left, TOP - 20, label, severity)
            taken.append((left, left + width + GAP))


def _severity(mark: ChartMark) -> str:
    return mark.severity if mark.severity in SEVERITIES else SEVERITIES[0]


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    if not words:
        return ""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(plain(words))}</text>'


def _attribute(words: str) -> str:
    return escape(plain(words), {'"': "&quot;"})
