"""One line at the bottom of the screen to write a filter in."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input, Label


class FilterPrompt(ModalScreen[str | None], inherit_bindings=False):
    """Enter takes what is written, Esc nothing."""

    CSS_PATH = "filter_prompt.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [("escape,ctrl+c", "out", "close")]

    def __init__(self, written: str) -> None:
        super().__init__()
        self._input = Input(
            written, placeholder="text, flag:TRUNCATED, role:tool, flagged; nothing shows all rows", compact=True
        )

    def compose(self) -> ComposeResult:
        yield Horizontal(Label("/ only rows with"), self._input)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._answer(event.value)

    def action_out(self) -> None:
        self._answer(None)

    def _answer(self, written: str | None) -> None:
        if self.is_current:  # a second Enter may come before the first one has closed it
            self.dismiss(written)
