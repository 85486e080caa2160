"""A page of text in front of the screen, to read and close."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key
from textual.screen import ModalScreen

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, line
from pgs_tui.format import plain
from pgs_tui.widgets.panel import Panel

Text = Callable[[int], Sequence[Line]]
"""The lines at a width."""


def as_written(text: str, cells: int) -> list[Line]:
    """The text line by line with its blanks; what is too long goes on in the next line, further to the right."""
    return [line((piece, "text")) for written in text.splitlines() for piece in _pieces(plain(written), cells) or [""]]


def _pieces(written: str, cells: int) -> list[str]:
    indentation = " " * min(len(written) - len(written.lstrip()) + 2, cells // 2)
    return wrap(written, max(cells, 2), subsequent_indent=indentation, break_on_hyphens=False)


class TextPage(ModalScreen[str], inherit_bindings=False):
    """Any of the keys `ways_out` closes it too, and is what is returned then; otherwise that is empty.

    Scrolls where the terminal is too low for it. Ask for `draw_again` when the text has changed.
    """

    CSS_PATH: ClassVar = [Path(__file__).with_name(sheet) for sheet in ("modal.tcss", "text_page.tcss")]
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,enter,ctrl+c", "out", "close"),
        ("up,k", "scroll_by(-1)", "up"),
        ("down,j", "scroll_by(1)", "down"),
        ("pageup", "scroll_by(-10)", "up"),
        ("pagedown", "scroll_by(10)", "down"),
        ("home", "scroll_by(-100000)", "to the start"),
        ("end", "scroll_by(100000)", "to the end"),
    ]

    def __init__(self, title: str, text: Text, glyphs: GlyphName, ways_out: str = "") -> None:
        super().__init__()
        self._ways_out = ways_out
        self._page = _Page(title, text)
        self._page.glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield self._page

    def draw_again(self) -> None:
        """The text is another one now."""
        self._page.redraw()

    def on_key(self, event: Key) -> None:
        if event.character and event.character in self._ways_out and self.is_current:
            event.stop()
            self.dismiss(event.character)

    def action_out(self) -> None:
        if self.is_current:
            self.dismiss("")

    def action_scroll_by(self, lines: int) -> None:
        self._page.scroll(lines)


class _Page(Panel):
    def __init__(self, title: str, text: Text) -> None:
        super().__init__(id="box")
        self._heading = title
        self._text = text
        self._first = 0

    def scroll(self, lines: int) -> None:
        rows = max(self.size.height - 2, 1)
        last = max(len(self._text(self.size.width - 4)) - rows, 0)
        self._first = min(max(self._first + lines, 0), last)
        self.redraw()

    def title(self) -> Line:
        return line((self._heading, "title"))

    def summary(self) -> Sequence[Line]:
        return [line(("Esc closes · ↑↓ scroll", "dim"))]

    def body(self, width: int, height: int) -> Sequence[Line]:
        return self._text(width)[self._first : self._first + height]
