"""A question with a few answers, in the middle of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, Role, line, wrapped
from pgs_tui.format import plain
from pgs_tui.widgets.panel import Panel

WIDTH = 64


@dataclass(frozen=True, slots=True)
class Answer:
    """What is returned, and how it reads."""

    value: str
    text: str


class Confirm(ModalScreen[str], inherit_bindings=False):
    """Enter takes the marked answer, at first that at `marked`; Esc takes the last one, which must be the harmless one.

    Ctrl-C takes the answer `interrupt`, else the harmless one too.
    """

    CSS_PATH = "modal.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k,left,h,shift+tab", "move(-1)", "previous answer"),
        ("down,j,right,l,tab", "move(1)", "next answer"),
        ("enter", "take", "take this answer"),
        ("escape,q", "out", "close"),
        ("ctrl+c", "interrupt", "leave, or close"),
    ]

    def __init__(
        self,
        title: str,
        question: str,
        answers: Sequence[Answer],
        glyphs: GlyphName,
        interrupt: str | None = None,
        marked: int = 0,
    ) -> None:
        super().__init__()
        self.answers = tuple(answers)
        self._interrupt = interrupt or self.answers[-1].value
        self._box = _Box(title, question, self.answers)
        self._box.glyphs = glyphs
        self._box.marked = marked

    def compose(self) -> ComposeResult:
        yield self._box

    def action_move(self, step: int) -> None:
        self._box.move(step)

    def action_take(self) -> None:
        self.dismiss(self.answers[self._box.marked].value)

    def action_interrupt(self) -> None:
        self.dismiss(self._interrupt)

    def action_out(self) -> None:
        self.dismiss(self.answers[-1].value)


class _Box(Panel):
    def __init__(self, title: str, question: str, answers: tuple[Answer, ...]) -> None:
        super().__init__(id="box")
        self._heading = title
        self._question = question
        self._answers = answers
        self.marked = 0

    def on_mount(self) -> None:
        self.styles.width = WIDTH
        self.styles.height = len(wrapped(plain(self._question), WIDTH - 4)) + len(self._answers) + 4

    def move(self, step: int) -> None:
        self.marked = (self.marked + step) % len(self._answers)
        self.redraw()

    def title(self) -> Line:
        return line((self._heading, "title"))

    def summary(self) -> Sequence[Line]:
        return [line(("↑↓ choose · Enter take · Esc close", "dim"))]

    def brief(self, width: int) -> Line:
        return line((f"{self._heading} ", "title"), (f"› {self._answers[self.marked].text}", "accent"))

    def body(self, width: int, height: int) -> Sequence[Line]:
        question = wrapped(plain(self._question), width)
        answers = [self._answer(place, answer) for place, answer in enumerate(self._answers)]
        room = height - len(answers)
        return [*question[: max(room - 1, 0)], *([()] if room > 0 else []), *answers]

    def _answer(self, place: int, answer: Answer) -> Line:
        role: Role = "accent" if place == self.marked else "text"
        return line(("› " if place == self.marked else "  ", role), (answer.text, role))
