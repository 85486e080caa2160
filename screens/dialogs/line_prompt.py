"""One line at the bottom of the screen to write something in."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Label


class LinePrompt(ModalScreen[str | None], inherit_bindings=False):
    """Enter takes what is written, Esc nothing. The hint stands in the line while it is empty."""

    CSS_PATH = "line_prompt.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [("escape,ctrl+c", "out", "close")]

    def __init__(self, label: str, written: str, hint: str = "") -> None:
        super().__init__()
        self._label = label
        self._input = Input(written, placeholder=hint, compact=True)

    def compose(self) -> ComposeResult:
        yield Horizontal(Label(self._label, markup=False), self._input)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._answer(event.value)

    def action_out(self) -> None:
        self._answer(None)

    def _answer(self, written: str | None) -> None:
        if self.is_current:  # a second Enter may come before the first one has closed it
            self.dismiss(written)
