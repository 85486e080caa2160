"""The keys that go through a list."""

from __future__ import annotations

_TO_THE_END = 10**9
"""More rows than any list has."""


class ListKeys:
    """For a screen: each of the keys moves by so many rows."""

    def move_by(self, rows: int) -> None:
        """Select another row, or scroll what is in focus."""
        raise NotImplementedError

    def page_rows(self) -> int:
        """The rows that the list has room for."""
        raise NotImplementedError

    def action_up(self) -> None:
        self.move_by(-1)

    def action_down(self) -> None:
        self.move_by(1)

    def action_page_up(self) -> None:
        self.move_by(-self.page_rows())

    def action_page_down(self) -> None:
        self.move_by(self.page_rows())

    def action_first(self) -> None:
        self.move_by(-_TO_THE_END)

    def action_last(self) -> None:
        self.move_by(_TO_THE_END)
