"""Partial updates of the screen that send the changed cells alone.

Textual (8.2) crops what changed on the right only: of a line it sends everything from the left edge of the widget to
the last changed cell. Over a slow link that is most of what a live screen costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from rich.console import Console, RenderableType
from rich.control import Control
from textual import _compositor
from textual._compositor import CompositorUpdate
from textual.strip import Strip

from pgs_tui.drawing.lines import EVEN

Chops = Sequence[Mapping[int, "Strip | None"]]
Span = tuple[int, int, int]
"""A line, its first changed cell, and the one behind its last."""


class ChangedCells(CompositorUpdate):
    """The spans of a partial update, cropped on both sides."""

    def __init__(self, chops: Chops, spans: Sequence[Span], chop_ends: Sequence[Sequence[int]]) -> None:
        """`chops` are the pieces of each line by their first cell, `chop_ends` the cells behind them."""
        self.chops = chops
        self.spans = spans
        self.chop_ends = chop_ends

    def render_segments(self, console: Console) -> str:
        """The text and codes that bring the terminal up to date."""
        return "".join(
            Control.move_to(x, y).segment.text + strip.render(console) for x, y, strip in self._changed_pieces()
        )

    def _changed_pieces(self) -> Iterator[tuple[int, int, Strip]]:
        sent: set[tuple[int, int]] = set()
        for y, first, behind in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                left, right = max(x, first), min(end, behind)
                if strip is None or left >= right or (x, y) in sent:
                    continue
                if (left, right) == (x, end) or not EVEN.fullmatch(strip.text):
                    sent.add((x, y))  # half of a wide character cannot be sent
                    yield x, y, strip
                else:
                    yield left, y, strip.crop(left - x, right - x)


def frugal(update: RenderableType | None) -> RenderableType | None:
    """The same update with less to send; as it is where it is no partial one, or Textual makes them in another way."""
    partial = getattr(_compositor, "ChopsUpdate", None)
    if partial is None or type(update) is not partial:
        return update
    parts = vars(update)
    if not parts.keys() >= {"chops", "spans", "chop_ends"}:
        return update
    # Textual asks every update for `render_segments`, though its types name what Rich can print
    return cast("RenderableType", ChangedCells(parts["chops"], parts["spans"], parts["chop_ends"]))
