"""Further curves, such as those of other runs, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from pgs_tui.drawing.curves import Other
from pgs_tui.drawing.lines import Role
from pgs_tui.export.svg_curves import Ground, middle
from pgs_tui.format import plain
from pgs_tui.history.series import Columns

GREY = "#8a93a0"
COLOURS: dict[Role, str] = {
    "series-1": "#2f7be0",
    "series-3": "#10927a",
    "series-4": "#c77414",
    "series-5": "#b0459f",
    "series-6": "#9a8420",
    "series-7": "#8a5a2b",
}
"""By role: those that are seen on light and on dark paper."""
DASHES = ("none", "7 3", "2 3", "10 3 2 3", "4 4", "12 4")
SIGN_ROOM = 10
"""Pixels kept free for a sign at the right border."""


def further_curves(others: Sequence[Other], ground: Ground) -> Iterator[str]:
    """Each in a colour and with dashes of its own, its sign at its end and its name where the pointer rests."""
    for place, other in enumerate(others):
        colour, dashes = COLOURS.get(other.role, GREY), DASHES[place % len(DASHES)]
        style = f"stroke: {colour}; stroke-dasharray: {dashes}"
        title = f"<title>{escape(plain(other.name))}</title>"
        yield f'<path class="other" style="{style}" d="{middle(other.columns, ground)}">{title}</path>'
        end = _end(other.columns, ground)
        if end is not None and other.sign:
            x, y = end
            at = f'x="{min(x + 4, ground.right - SIGN_ROOM):.1f}" y="{y - 5:.1f}"'
            yield f'<text class="sign" style="fill: {colour}" {at}>{escape(other.sign)}</text>'


def _end(columns: Columns, ground: Ground) -> tuple[float, float] | None:
    """Where the curve ends, in pixels."""
    values = zip(columns.low, columns.high, strict=True)
    last = max((column for column, (low, high) in enumerate(values) if low <= high), default=None)
    if last is None:
        return None
    width = (columns.end - columns.start) / len(columns.low)
    return ground.x(columns.start + (last + 0.5) * width), ground.y(columns.high[last])
