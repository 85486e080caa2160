"""A list to choose one thing from, in the middle of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, Role, line
from pgs_tui.drawing.lines import width as cells_of
from pgs_tui.format import plain
from pgs_tui.widgets.panel import Panel

NARROWEST = 30
PAGE = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """What is returned, how it reads, and what stands beside it."""

    value: str
    text: str
    note: str = ""


class Choose(ModalScreen[str | None], inherit_bindings=False):
    """Enter takes the marked choice, Esc none. `now` is the value that is marked at first."""

    CSS_PATH = "modal.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k,shift+tab", "move(-1)", "the one above"),
        ("down,j,tab", "move(1)", "the one below"),
        ("pageup", f"move(-{PAGE})", "further up"),
        ("pagedown", f"move({PAGE})", "further down"),
        ("home", "move(-100000)", "to the first"),
        ("end", "move(100000)", "to the last"),
        ("enter", "take", "take this one"),
        ("escape,q,ctrl+c", "out", "close"),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], now: str, glyphs: GlyphName) -> None:
        super().__init__()
        self._choices = tuple(choices)
        marked = next((place for place, choice in enumerate(self._choices) if choice.value == now), 0)
        self._box = _Box(title, self._choices, marked)
        self._box.glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield self._box

    def action_move(self, step: int) -> None:
        self._box.move(step)

    def action_take(self) -> None:
        if self.is_current:
            self.dismiss(self._choices[self._box.marked].value)

    def action_out(self) -> None:
        if self.is_current:
            self.dismiss(None)


class _Box(Panel):
    def __init__(self, title: str, choices: tuple[Choice, ...], marked: int) -> None:
        super().__init__(id="box")
        self._heading = title
        self._choices = choices
        self.marked = marked

    def on_mount(self) -> None:
        broad = max(cells_of(one.text) + (cells_of(one.note) + 2 if one.note else 0) for one in self._choices)
        self.styles.width = max(broad + 6, cells_of(self._heading) + 6, NARROWEST)
        self.styles.height = len(self._choices) + 2

    def move(self, step: int) -> None:
        self.marked = min(max(self.marked + step, 0), len(self._choices) - 1)
        self.redraw()

    def title(self) -> Line:
        return line((plain(self._heading), "title"))

    def summary(self) -> Sequence[Line]:
        return [line(("↑↓ choose · Enter take", "dim")), line(("Enter take", "dim"))]

    def brief(self, width: int) -> Line:
        return line((f"{plain(self._heading)} ", "title"), (f"› {plain(self._choices[self.marked].text)}", "accent"))

    def body(self, width: int, height: int) -> Sequence[Line]:
        first = min(max(self.marked - height // 2, 0), max(len(self._choices) - height, 0))
        return [self._choice(place, width) for place in range(len(self._choices))][first : first + height]

    def _choice(self, place: int, width: int) -> Line:
        choice = self._choices[place]
        role: Role = "accent" if place == self.marked else "text"
        text = line(("› " if place == self.marked else "  ", role), (plain(choice.text), role))
        gap = width - sum(cells_of(part) for part, _ in text) - cells_of(choice.note)
        return (*text, *line((" " * gap, "text"), (plain(choice.note), "dim"))) if choice.note and gap >= 1 else text
