"""`pgs-tui --once`: the dashboard of a run as text or JSON, once, for a pipe, a mail, or a look in passing."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from pgs_tui.appearance.look import Look
from pgs_tui.appearance.palette import PALETTES
from pgs_tui.drawing.lines import Line, text_of
from pgs_tui.export.frame import Sheet, frame_of
from pgs_tui.export.reading import read_source
from pgs_tui.runs.source import Source

USUAL_WIDTH = 80
NARROWEST = 20
RESET = "\x1b[0m"
_FIRST_COLOUR, _FIRST_BRIGHT = 30, 90
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
BOLD_ROLES = ("title", "value", "bad")
DIM_ROLES = ("dim",)


def print_once(source: Source, look: Look, as_json: bool, out: TextIO, environment: Mapping[str, str]) -> int:
    """Print the run as it is now. Returns 0, whatever became of the run."""
    gc.disable()  # nothing here lives longer than the program
    frame = frame_of(read_source(source), Sheet(_width(out, environment), look.glyphs))
    if as_json:
        from pgs_tui.export.frame_as_json import frame_as_json

        print(frame_as_json(frame), file=out)
    else:
        from pgs_tui.export.frame_as_text import frame_as_text

        in_colour = has_colours(out, environment)
        print_lines(frame_as_text(frame, in_colour), out, in_colour)
    out.flush()
    return 0


def print_lines(lines: Iterable[Line], out: TextIO, in_colour: bool) -> None:
    """Lines without blanks at their ends; in the terminal's own 16 colours, which suit its background, or in none."""
    for spans in lines:
        print(_inked(spans) if in_colour else text_of(spans).rstrip(), file=out)


def has_colours(out: TextIO, environment: Mapping[str, str]) -> bool:
    """A terminal whose owner has not asked for none (NO_COLOR)."""
    return out.isatty() and not environment.get("NO_COLOR") and environment.get("TERM", "") not in ("", "dumb")


def _width(out: TextIO, environment: Mapping[str, str]) -> int:
    """That of the terminal; else COLUMNS, else 80."""
    if out.isatty():
        try:
            return max(os.get_terminal_size(out.fileno()).columns or USUAL_WIDTH, NARROWEST)
        except OSError:
            pass
    columns = environment.get("COLUMNS", "")
    return max(int(columns), NARROWEST) if columns.isdecimal() and int(columns) < 10_000 else USUAL_WIDTH


def _inked(spans: Line) -> str:
    parts = []
    for text, role in spans:
        codes = _codes(role)
        parts.append(f"\x1b[{codes}m{text}{RESET}" if codes and text.strip() else text)
    return "".join(parts).rstrip()


def _codes(role: str) -> str:
    codes = ["1"] if role in BOLD_ROLES else ["2"] if role in DIM_ROLES else []
    name = PALETTES["terminal"].get(f"ink-{role}", "ansi_default").removeprefix("ansi_")
    bright, name = name.startswith("bright_"), name.removeprefix("bright_")
    if name in _COLOURS:
        codes.append(str((_FIRST_BRIGHT if bright else _FIRST_COLOUR) + _COLOURS.index(name)))
    return ";".join(codes)
