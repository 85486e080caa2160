"""One ink for each part of a run's memory, the same in every bar."""

from __future__ import annotations

from collections.abc import Mapping

from pgs_tui.drawing.lines import Role
from pgs_tui.widgets.bars import Part

INKS: dict[str, Role] = {
    "weights": "accent",
    "optimizer state": "good",
    "gradients": "key",
    "layer inputs": "raw",
    "kept activations": "title",
    "layer at work": "warn",
    "loss and logits": "value",
    "buffers": "dim",
}
"""In the order of the bars. A part of another name gets the ink of plain text, and comes last."""


def parts_of(amounts: Mapping[str, float]) -> tuple[Part, ...]:
    """The amounts in GiB as parts of a bar: always the same ones in the same order, so that nothing jumps."""
    names = [*INKS, *(name for name in amounts if name not in INKS)]
    return tuple(Part(name, amounts.get(name, 0.0), INKS.get(name, "text")) for name in names)
