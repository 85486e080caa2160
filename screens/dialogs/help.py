"""The help page, made from the table of keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, line, wrapped
from pgs_tui.key_tables.key import Need
from pgs_tui.keys import BESIDES, ScreenName, keys_of
from pgs_tui.widgets.panel import Panel

WIDTH = 76
SIGNS: dict[ScreenName, tuple[tuple[str, str], ...]] = {
    "dashboard": (
        ("●", "training"),
        ("◐", "getting ready, evaluating, saving"),
        ("‖", "paused or held"),
        ("✔ ■ ✖", "finished, stopped, failed or killed"),
        ("?", "the log cannot be read at the moment"),
        ("▲ ▼", "in a chart: a value above, below it"),
        ("1.7 ± 0.08", "in brackets at the cursor: what is usual before that step, and how far values stray from it"),
    ),
    "inspect": (
        ("┃", "a line with something that is trained"),
        ("⏎ →", "a newline, a tab"),
        ("·", "a blank that would not be noticed, or in a token"),
        ("‹U+200B›", "a character that cannot be seen, or would disturb its neighbours"),
        ("<F0>", "a token that is one byte of a character"),
        ("▲ ✖", "a warning, an error"),
    ),
    "picker": (
        ("✔ ▲ ✖", "fits the GPU, is tight, does not fit; before a run: how it ended"),
        ("✖ …", "cannot be used, and the first reason why"),
        ("● ○ ■", "a run that is going, is starting, was stopped"),
        (
            "▲code",
            "model.trust_remote_code is on: code that comes with the model would run; asked before it does",
        ),
        ("◆", "marked to be compared with another one"),
        ("2·4 × 2 048", "batch · passes whose gradients are added up × tokens of the longest sample"),
    ),
    "profile": (
        ("✔ ▲ ✖ ○", "fits, is tight, does not fit, cannot be told without a GPU"),
        ("█ ░ ▒ ┃", "needed, free, held by others; where what is free ends"),
        ("◂ ▸", "the phase of a step that decides"),
        ("*", "another value than in the config"),
    ),
    "runs": (
        ("● ○ ‖", "going, starting, paused"),
        ("✔ ■ ✖", "finished, stopped, failed or killed"),
        ("◇", "training of another tool: it is watched, played and compared, and not changed"),
        ("◆", "marked to be compared with others"),
        ("1.890e", "best: the lowest loss of an evaluation; without an e, of a step"),
        ("▲ ✖", "warnings; errors and what is critical"),
        ("… –", "still being read, not known"),
    ),
    "compare": (),
}


MARK_WORDS = {
    "spike": "a spike",
    "nan": "a value that is not a number or infinite",
    "skipped": "a step that was skipped: its gradient moved nothing",
    "checkpoint": "a checkpoint",
    "eval": "an evaluation",
    "best": "the best evaluation so far",
    "resume": "the run went on from a checkpoint",
    "stalled": "a step that took long, a stall",
}
"""The marks of the dashboard's curves, which n and N walk."""
OTHER_MARKS = "another alert, or a finding about the data"
TIMES = (
    "On the time axis what lies between two processes of a run counts as nothing. On a GPU the parts of a step come "
    "from the next step's line, which tells them."
)


class HelpScreen(ModalScreen[None], inherit_bindings=False):
    """Scrolls where the terminal is too low for it. Keys that need what is `lacking` are not told."""

    CSS_PATH = "modal.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark,enter,ctrl+c", "out", "close"),
        ("up,k", "scroll_by(-1)", "up"),
        ("down,j", "scroll_by(1)", "down"),
        ("home", "scroll_by(-1000)", "to the start"),
        ("end", "scroll_by(1000)", "to the end"),
    ]

    def __init__(self, screen: ScreenName, glyphs: GlyphName, lacking: Collection[Need] = ()) -> None:
        super().__init__()
        self._page = _Page(screen, glyphs, lacking)

    def compose(self) -> ComposeResult:
        yield self._page

    def action_out(self) -> None:
        self.dismiss()

    def action_scroll_by(self, lines: int) -> None:
        self._page.scroll(lines)


class _Page(Panel):
    def __init__(self, screen: ScreenName, glyphs: GlyphName, lacking: Collection[Need]) -> None:
        super().__init__(id="box")
        self.glyphs = glyphs
        has_curves = "dashboard" in (screen, BESIDES.get(screen))
        self._signs = SIGNS["dashboard" if has_curves else screen] + (_marks(glyphs) if has_curves else ())
        self._remark = TIMES if has_curves else ""
        self._entries = [(entry.shown, entry.help) for entry in keys_of(screen, lacking) if entry.shown]
        self._first = 0

    def on_mount(self) -> None:
        self.styles.width = WIDTH
        self.styles.height = len(self._text(WIDTH - 4)) + 2

    def scroll(self, lines: int) -> None:
        rows = self.size.height - 2
        self._first = min(max(self._first + lines, 0), max(len(self._text(self.size.width - 4)) - rows, 0))
        self.redraw()

    def title(self) -> Line:
        return line(("keys", "title"))

    def summary(self) -> Sequence[Line]:
        return [line(("Esc closes · ↑↓ scroll", "dim"))]

    def body(self, width: int, height: int) -> Sequence[Line]:
        return self._text(width)[self._first : self._first + height]

    def _text(self, width: int) -> list[Line]:
        entries = [row for shown, help_text in self._entries for row in _entry(shown, help_text, width)]
        signs = [row for sign, meaning in self._signs for row in _entry(sign, meaning, width)]
        mouse = "Text is selected with the terminal's own means; when started with --mouse, hold Shift."
        closing = [row for text in (self._remark, mouse) if text for row in wrapped(text, width, "dim")]
        return [*entries, (), line(("signs", "title")), *signs, (), *closing]


def _marks(glyphs: GlyphName) -> tuple[tuple[str, str], ...]:
    from pgs_tui.drawing.chart_layers import MARKS, OTHER_MARK

    is_ascii = glyphs == "ascii"
    known = tuple((MARKS[kind][is_ascii], words) for kind, words in MARK_WORDS.items())
    return (*known, (OTHER_MARK[is_ascii], OTHER_MARKS))


def _entry(key: str, meaning: str, width: int) -> list[Line]:
    rows = wrapped(meaning, max(width - 12, 8))
    first = line((key.ljust(12), "key"), *rows[0]) if rows else line((key, "key"))
    return [first, *[line((" " * 12, "text"), *row) for row in rows[1:]]]
