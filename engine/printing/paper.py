"""What the text for people is printed on: how wide it is, and whether it knows colours."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from engine.printing.visible import Signs, width_of

_STYLES = {
    "trained": "1;32",
    "faint": "2",
    "heading": "1",
    "info": "36",
    "warning": "33",
    "error": "1;31",
    "critical": "1;31",
    "heat1": "32",
    "heat2": "33",
    "heat3": "1;33",
    "heat4": "1;31",
    "heat5": "1;37;41",
}
_NARROWEST = 20


class Ink(NamedTuple):
    """Text of one style; "" is the terminal's own."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """A terminal or a file. `width` is None where lines are not broken, as in a pipe."""

    out: TextIO
    signs: Signs
    has_colour: bool
    width: int | None

    def print(self, *inks: Ink | str) -> None:
        """Print one line."""
        self.out.write("".join(self._coloured(ink) for ink in inks) + "\n")

    def rule(self, title: Iterable[Ink]) -> None:
        """Print a heading with a line behind it."""
        dash = "-" if self.signs.is_plain else "─"
        inks = list(title)
        length = sum(len(ink.text) for ink in inks)
        rest = min(self.width or 80, 100) - length - 4
        self.print(Ink(f"{dash}{dash} ", "faint"), *inks, Ink(f" {dash * max(0, rest)}", "faint"))

    def paragraph(self, head: Ink, text: str, margin: int) -> None:
        """Print a text for people, broken between words; further lines begin `margin` columns further in."""
        if self.width is None:
            self.print(head, text)
            return
        filled = " " * len(head.text) + text
        first, *others = textwrap.wrap(
            filled,
            max(_NARROWEST, self.width - 1),
            subsequent_indent=" " * margin,
            drop_whitespace=True,
            break_on_hyphens=False,
        ) or [filled]
        self.print(head, first[len(head.text) :])
        for line in others:
            self.print(line)

    def wrapped(self, inks: Iterable[Ink], margin: int) -> Iterator[list[Ink]]:
        """Break a line of text where the paper ends; `margin` columns are taken already."""
        if self.width is None:
            yield list(inks)
            return
        room = max(_NARROWEST, self.width - margin)
        line: list[Ink] = []
        used = 0
        for text, style in inks:
            start = 0
            for place, character in enumerate(text):
                width = width_of(character)
                if used + width > room:
                    yield [*line, Ink(text[start:place], style)]
                    line, start, used = [], place, 0
                used += width
            line.append(Ink(text[start:], style))
        yield line

    def _coloured(self, ink: Ink | str) -> str:
        text, style = ink if isinstance(ink, Ink) else (ink, "")
        code = _STYLES.get(style) if self.has_colour and text else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text


def paper_for(out: TextIO, is_plain: bool) -> Paper:
    """The paper that stdout is: colours and broken lines on a terminal alone."""
    is_terminal = out.isatty()
    is_dumb = os.environ.get("TERM", "") in ("", "dumb")
    has_colour = is_terminal and not is_plain and not is_dumb and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size().columns if is_terminal else None
    return Paper(out, Signs(out.encoding or "ascii", is_plain), has_colour, width)
