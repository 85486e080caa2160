"""The keys that change which part of a run charts show, and where their cursor stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pgs_tui.view import Ground, View

ZOOM = 2.0
PAN = 0.5
"""How much closer, and by which part of the window, one key goes."""
FAR = 10
"""Columns that the cursor goes at once with Shift."""


class ViewKeys:
    """For a screen with a view."""

    all_is_seen: ClassVar[str]
    """What is said where there is nothing more to zoom out to."""

    def change_view(self, change: Callable[[View, Ground], View], unchanged: str = "") -> None:
        """Change the view; where that changes nothing, say why."""
        raise NotImplementedError

    def pan(self, share: float) -> None:
        """Move the window by this share of its width."""
        raise NotImplementedError

    def move_cursor(self, columns: int) -> None:
        """Move the cursor by so many columns of the chart."""
        raise NotImplementedError

    def action_right(self) -> None:
        self.move_cursor(1)

    def action_left(self) -> None:
        self.move_cursor(-1)

    def action_right_far(self) -> None:
        self.move_cursor(FAR)

    def action_left_far(self) -> None:
        self.move_cursor(-FAR)

    def action_zoom_in(self) -> None:
        self.change_view(lambda view, ground: view.zoomed(ZOOM, ground), "closer than this nothing more would be seen")

    def action_zoom_out(self) -> None:
        self.change_view(lambda view, ground: view.zoomed(1 / ZOOM, ground), self.all_is_seen)

    def action_zoom_all(self) -> None:
        self.change_view(lambda view, _: view.all(), self.all_is_seen)

    def action_pan_left(self) -> None:
        self.pan(-PAN)

    def action_pan_right(self) -> None:
        self.pan(PAN)
