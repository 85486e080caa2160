"""The very first frame: a screen's first and last line, drawn before the libraries for the rest are loaded."""

from __future__ import annotations

from collections.abc import Sequence

from pgs_tui.appearance.look import Look
from pgs_tui.appearance.palette import PALETTES
from pgs_tui.format import plain
from pgs_tui.keys import fitting

ALTERNATE_SCREEN = "\x1b[?1049h"
HIDDEN_CURSOR = "\x1b[?25l"
ASCII = str.maketrans("…←→↑↓", ".<>^v")
"""What stands in the hints, cell for cell."""


def splash(
    columns: int, rows: int, name: str, state: str, look: Look, true_colour: bool, hints: Sequence[tuple[str, str]]
) -> str:
    """Codes and text for a terminal of this size; the alternate screen is on afterwards and the cursor hidden."""
    paint = _Paint(look, true_colour)
    first = _first_line(columns, plain(name), state, paint, "o" if look.glyphs == "ascii" else "○")
    last = _last_line(columns, paint, look.glyphs == "ascii", hints) if rows > 1 else ""
    return f"{ALTERNATE_SCREEN}{HIDDEN_CURSOR}{paint.blank}\x1b[2J\x1b[H{first}\x1b[{max(rows, 1)};1H{last}"


class _Paint:
    """Text in the colours of the look, or in none where the terminal has no true colours."""

    def __init__(self, look: Look, true_colour: bool) -> None:
        self._colours = PALETTES[look.theme] if true_colour and look.theme != "terminal" else {}
        background = self._colours.get("background")
        self.blank = f"\x1b[0m\x1b[{_code(48, background)}m" if background else "\x1b[0m"

    def __call__(self, role: str, text: str) -> str:
        colour = self._colours.get(f"ink-{role}")
        return f"\x1b[{_code(38, colour)}m{text}{self.blank}" if colour else text


def _first_line(columns: int, title: str, state: str, paint: _Paint, sign: str) -> str:
    brand, right = " pgs-tui   ", f"{sign} {state}   no data yet "
    gap = columns - len(brand) - len(title) - len(right)
    if gap < 1 or not title.isascii():
        return ""
    return paint("dim", brand) + paint("title", title) + " " * gap + paint("dim", right)


def _last_line(columns: int, paint: _Paint, ascii_only: bool, hints: Sequence[tuple[str, str]]) -> str:
    texts = [f"{paint('key', key)} {paint('dim', meaning)}" for key, meaning in fitting(hints, columns)]
    line = " " + "  ".join(texts)
    return line.translate(ASCII) if ascii_only else line


def _code(layer: int, colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"{layer};2;{red};{green};{blue}"
