"""All panels of the dashboard in a list: shown or hidden, in their order, to be changed behind it at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, Role, fit, line
from pgs_tui.layout import Layout
from pgs_tui.panel_names import BY_DIGIT, STRIPS, WORDS, PanelName
from pgs_tui.room import Room
from pgs_tui.widgets.panel import Panel

WIDTH = 54
SHOWN, NOT_SHOWN = "●", "○"
Change = Callable[[Layout], None]


class PanelList(ModalScreen[None], inherit_bindings=False):
    """Enter shows or hides the marked panel, [ and ] move it, r makes everything as it was at first, Esc closes."""

    CSS_PATH = "modal.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k,shift+tab", "go(-1)", "the one above"),
        ("down,j,tab", "go(1)", "the one below"),
        ("home", "go(-100)", "to the first"),
        ("end", "go(100)", "to the last"),
        ("enter,space", "show_or_hide", "show or hide it"),
        ("left_square_bracket", "move(-1)", "move it up"),
        ("right_square_bracket", "move(1)", "move it down"),
        ("r", "reset", "everything as it was at first"),
        ("escape,q,v,ctrl+c", "out", "close"),
    ]

    def __init__(self, layout: Layout, room: Room, change: Change, glyphs: GlyphName) -> None:
        """`change` brings a layout to the screen behind."""
        super().__init__()
        self._layout, self._room, self._change = layout, room, change
        self._box = _Box(layout, room)
        self._box.glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield self._box

    def action_go(self, step: int) -> None:
        self._box.go(step)

    def action_show_or_hide(self) -> None:
        self._take(self._layout.toggled(self._box.marked, self._room))

    def action_move(self, by: int) -> None:
        self._take(self._layout.moved(self._box.marked, by, self._room))

    def action_reset(self) -> None:
        self._take(Layout(smoothing=self._layout.smoothing, axis=self._layout.axis))

    def action_out(self) -> None:
        if self.is_current:
            self.dismiss()

    def _take(self, layout: Layout) -> None:
        self._layout = layout
        self._box.show(layout)
        self._change(layout)


class _Box(Panel):
    def __init__(self, layout: Layout, room: Room) -> None:
        super().__init__(id="box")
        self._layout, self._room = layout, room
        self.marked: PanelName = self._names[0]

    @property
    def _names(self) -> list[PanelName]:
        """As they stand on the screen: the strips last."""
        return sorted(self._layout.order, key=lambda name: name in STRIPS)

    def on_mount(self) -> None:
        self.styles.width = WIDTH
        self.styles.height = len(self._names) + 2

    def go(self, step: int) -> None:
        place = self._names.index(self.marked) + step
        self.marked = self._names[min(max(place, 0), len(self._names) - 1)]
        self.redraw()

    def show(self, layout: Layout) -> None:
        self._layout = layout
        self.redraw()

    def title(self) -> Line:
        return line(("panels", "title"))

    def summary(self) -> Sequence[Line]:
        forms = ("Enter shows or hides · [ ] move · r resets", "Enter · [ ] · r · Esc")
        return [line((words, "dim")) for words in forms]

    def brief(self, width: int) -> Line:
        return line(("panels ", "title"), *self._row(self.marked, width))

    def body(self, width: int, height: int) -> Sequence[Line]:
        names = self._names
        first = min(max(names.index(self.marked) - height // 2, 0), max(len(names) - height, 0))
        return [self._row(name, width) for name in names[first : first + height]]

    def _row(self, name: PanelName, width: int) -> Line:
        shown = name in self._layout.visible(self._room)
        role: Role = "accent" if name == self.marked else "text" if shown else "dim"
        digit = str(BY_DIGIT.index(name) + 1) if name in BY_DIGIT else " "
        sign = line(("› " if name == self.marked else "  ", role), (SHOWN if shown else NOT_SHOWN, role))
        words = fit(line(*sign, (f" {WORDS[name]}", role)), 26)
        return fit(line(*words, (digit, "key"), (f"  {self._note(name, shown)}", "dim")), width)

    def _note(self, name: PanelName, shown: bool) -> str:
        if shown:
            return ""
        if name == "ranks" and not self._room.several_ranks:
            return "one rank trains"
        return "hidden" if name in self._layout.hidden else "for larger windows"
