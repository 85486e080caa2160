"""Which panels of the dashboard are shown, in which order and how, as a person wants it.

A panel is shown where a terminal of its size usually has room for it, unless a person hid or brought it: the layout
itself knows no size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pgs_tui.history.axis import AxisName
from pgs_tui.panel_names import PANELS, STRIPS, PanelName
from pgs_tui.room import Room

SMOOTHINGS: tuple[float | None, ...] = (0.98, 0.9, None)
"""Constants of the average over the raw values; None draws raw values alone."""
LOGGABLE: tuple[PanelName, ...] = ("loss", "grad_norm", "tok_s", "dt", "lr", "moved", "memory_over_steps")
"""Panels with an axis that can be logarithmic."""


@dataclass(frozen=True, slots=True)
class Layout:
    """`order` has every panel once. `alone` is the panel that fills the screen meanwhile; it is not remembered."""

    order: tuple[PanelName, ...] = PANELS
    hidden: frozenset[PanelName] = frozenset()
    """Not shown, though there is room."""
    brought: frozenset[PanelName] = frozenset()
    """Shown, though the terminal's size alone would not show them."""
    log_axes: frozenset[PanelName] = frozenset()
    smoothing: float | None = SMOOTHINGS[0]
    axis: AxisName = "step"
    alone: PanelName | None = field(default=None, compare=False)

    def visible(self, room: Room) -> tuple[PanelName, ...]:
        """The panels that are shown, in their order."""
        if self.alone is not None:
            return (self.alone,)
        usual = frozenset(room.usual())
        return tuple(panel for panel in self.order if panel in (usual - self.hidden) | self.brought)

    def toggled(self, panel: PanelName, room: Room) -> Layout:
        """The panel hidden where it is shown, and shown where it is not. What was alone no longer is."""
        layout = replace(self, alone=None)
        only: frozenset[PanelName] = frozenset({panel})
        usual = only & frozenset(room.usual())
        if panel in layout.visible(room):
            return replace(layout, hidden=layout.hidden | usual, brought=layout.brought - only)
        return replace(layout, hidden=layout.hidden - only, brought=layout.brought | (only - usual))

    def maximised(self, panel: PanelName) -> Layout:
        """The panel alone on the screen; among the others again where it was that."""
        return replace(self, alone=None if self.alone == panel else panel)

    def moved(self, panel: PanelName, by: int, room: Room) -> Layout:
        """The panel before (-1) or behind (1) its neighbour on the screen; the last stays last, the first first.

        Panels as wide as the screen change places among themselves, and so do the others.
        """
        layout = replace(self, alone=None)
        shown = [one for one in layout.visible(room) if (one in STRIPS) == (panel in STRIPS)]
        if panel not in shown or not 0 <= shown.index(panel) + by < len(shown):
            return self
        neighbour = shown[shown.index(panel) + by]
        order = [one for one in self.order if one != panel]
        order.insert(order.index(neighbour) + (1 if by > 0 else 0), panel)
        return replace(self, order=tuple(order))

    def with_log_axes(self, panels: Iterable[PanelName]) -> Layout:
        """The axes of these panels logarithmic, or linear again where they were."""
        return replace(self, log_axes=self.log_axes ^ frozenset(one for one in panels if one in LOGGABLE))
