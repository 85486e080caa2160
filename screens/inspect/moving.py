"""Ways through the rows and through the sample of the inspect screen, and how the sample is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pgs_tui.inspection.blocks import View
from screens.inspect.panes import InspectPanes

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from pgs_tui.inspection.reader import Reader

FAR_DOWN = 10**9
"""The last row, while it is not known which one that is."""


class InspectMoving(InspectPanes):
    """The keys that move: in the list from row to row, in the sample from token to token."""

    def action_up(self) -> None:
        self._move(-1)

    def action_down(self) -> None:
        self._move(1)

    def _move(self, rows: int) -> None:
        if self.focused is self.audit:
            self.audit.move(rows)
        elif self.focused is self.view:
            self._walk(lambda reader: reader.step_rows(rows))
        else:
            self._select(self.rows.selected + rows)

    def action_left(self) -> None:
        self._step(-1)

    def action_right(self) -> None:
        self._step(1)

    def _step(self, tokens: int) -> None:
        if self.focused is self.view:
            self._walk(lambda reader: reader.step(tokens))

    def action_page_down(self) -> None:
        self._page(1)

    def action_page_up(self) -> None:
        self._page(-1)

    def action_half_down(self) -> None:
        self._page(0.5)

    def action_half_up(self) -> None:
        self._page(-0.5)

    def _page(self, pages: float) -> None:
        if self.focused is self.view:
            self._walk(lambda reader: reader.page(pages))
        else:
            self._select(self.rows.selected + int(pages * self.rows.room))

    def action_first(self) -> None:
        if self.focused is self.view:
            self._walk(lambda reader: reader.to_start())
        else:
            self._select(0)

    def action_last(self) -> None:
        if self.focused is self.view:
            self._walk(lambda reader: reader.to_end())
        else:
            self._select(self.rows.source.matched - 1 if self.rows.source.answered else FAR_DOWN)

    def action_next_row(self) -> None:
        self._select(self.rows.selected + 1)

    def action_previous_row(self) -> None:
        self._select(self.rows.selected - 1)

    def _select(self, place: int) -> None:
        if self.rows.select(place):
            self.inspecting.select(self.rows.selected)
            self.show_now()

    def _walk(self, walk: Callable[[Reader], object]) -> bool:
        """Let the reader move; whether it did."""
        reader = self.view.reader
        if reader is None:
            self.inspecting.walk_later(walk)
            return True
        moved = walk(reader) is not False
        self.inspecting.cursor_moved()
        self.view.redraw()
        self._show_token()
        return moved

    def action_next_trained(self) -> None:
        if not self._walk(lambda reader: reader.to_trained(1)):
            self.say("nothing trained further down")

    def action_previous_trained(self) -> None:
        if not self._walk(lambda reader: reader.to_trained(-1)):
            self.say("nothing trained further up")

    def action_next_worst(self) -> None:
        self._worst(1)

    def action_previous_worst(self) -> None:
        self._worst(-1)

    def _worst(self, direction: int) -> None:
        if not self._walk(lambda reader: reader.worst(direction)):
            self.say("losses of tokens are known for recorded steps: Enter on a spike's alert opens one")

    def action_boxes(self) -> None:
        self._walk(lambda reader: reader.toggle_boxes())

    def action_raw(self) -> None:
        self._show_as("raw")

    def action_only_trained(self) -> None:
        self._show_as("trained")

    def _show_as(self, view: View) -> None:
        self._walk(lambda reader: reader.show("turns" if reader.view == view else view))
