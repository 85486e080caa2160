"""The learning rate of a run that is going: by which factor it is to be multiplied, and what that makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key
from textual.screen import ModalScreen

from engine.events.control_line import LARGEST_FACTOR
from pgs_tui.appearance.look import GlyphName
from pgs_tui.drawing.lines import Line, line, wrapped
from pgs_tui.format import value
from pgs_tui.widgets.panel import Panel

WIDTH = 64
USUAL = ("0.1", "0.2", "0.5", "0.8", "1.25", "2", "5", "10")
"""Factors that the arrows go through; any other can be written."""
FIRST = "0.5"
WRITTEN = "0123456789.,eE+-"
"""What a number is written with: `5e-1` that lost its middle would be another factor."""
LONGEST = 12
"""Characters of a factor that is written."""
EXPLAINED = (
    "From the next step on the rate of the schedule is multiplied by this factor, and stays so until it is changed."
)


class RatePrompt(ModalScreen[float | None], inherit_bindings=False):
    """Enter takes the factor that stands there, Esc none. `rate` is that of the newest step, None before the first."""

    CSS_PATH = "modal.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k,right,l", "usual(1)", "a larger factor"),
        ("down,j,left,h", "usual(-1)", "a smaller factor"),
        ("home", "usual(-100)", "the smallest"),
        ("end", "usual(100)", "the largest"),
        ("backspace", "rub_out", "take the last character away"),
        ("enter", "take", "take it"),
        ("escape,q,ctrl+c", "out", "close"),
    ]

    def __init__(self, rate: float | None, glyphs: GlyphName) -> None:
        super().__init__()
        self._box = _Box(rate)
        self._box.glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield self._box

    def on_key(self, event: Key) -> None:
        if event.character and event.character in WRITTEN:
            event.stop()
            self._box.write("." if event.character == "," else event.character)

    def action_usual(self, by: int) -> None:
        self._box.go(by)

    def action_rub_out(self) -> None:
        self._box.rub_out()

    def action_take(self) -> None:
        factor = factor_of(self._box.written)
        if factor is not None and self.is_current:
            self.dismiss(factor)

    def action_out(self) -> None:
        if self.is_current:
            self.dismiss(None)


def factor_of(written: str) -> float | None:
    """The factor that is written there, None where an engine would not take it."""
    try:
        factor = float(written)
    except ValueError:
        return None
    return factor if 0 < factor <= LARGEST_FACTOR else None


class _Box(Panel):
    def __init__(self, rate: float | None) -> None:
        super().__init__(id="box")
        self._rate = rate
        self._is_usual = True
        self.written = FIRST

    def on_mount(self) -> None:
        self.styles.width = WIDTH
        self.styles.height = len(self._text(WIDTH - 4)) + 2

    def go(self, by: int) -> None:
        """To the next usual factor above or below what stands there."""
        now = factor_of(self.written) or 0.0
        if abs(by) > 1:
            self.written = USUAL[-1 if by > 0 else 0]
        elif by > 0:
            self.written = next((one for one in USUAL if float(one) > now), USUAL[-1])
        else:
            self.written = next((one for one in reversed(USUAL) if float(one) < now), USUAL[0])
        self._is_usual = True
        self.redraw()

    def write(self, character: str) -> None:
        """What is written first replaces the factor that stood there."""
        before = "" if self._is_usual else self.written
        self.written = (before + character)[:LONGEST]
        self._is_usual = False
        self.redraw()

    def rub_out(self) -> None:
        self.written = self.written[:-1]
        self._is_usual = False
        self.redraw()

    def title(self) -> Line:
        return line(("learning rate", "title"))

    def value(self) -> Line:
        return line((value(self._rate), "value")) if self._rate is not None else ()

    def summary(self) -> Sequence[Line]:
        keys = ("↑↓ usual factors · digits write one · Enter take · Esc leave it", "Enter take · Esc leave it")
        return [line((text, "dim")) for text in keys]

    def brief(self, width: int) -> Line:
        return line(("learning rate ", "title"), *self._result())

    def body(self, width: int, height: int) -> Sequence[Line]:
        *explained, written, result = self._text(width)
        return [*explained[: max(height - 2, 0)], written, result][-height:]

    def _text(self, width: int) -> list[Line]:
        written = line(("› × ", "accent"), (self.written, "value"), ("▏", "accent"))
        return [*wrapped(EXPLAINED, width, "dim"), (), written, line(("  ", "text"), *self._result())]

    def _result(self) -> Line:
        factor = factor_of(self.written)
        if factor is None:
            return line((f"a factor is more than 0 and at most {LARGEST_FACTOR:g}", "bad"))
        if self._rate is None:
            return line((f"the rate is × {factor:g} from the next step on", "text"))
        return line((value(self._rate), "text"), (" → ", "dim"), (value(self._rate * factor), "accent"))
