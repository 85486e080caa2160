"""Lines of spans: what every widget draws. A span is a text and its role, which the theme turns into a style."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, get_args

from rich.cells import cell_len, chop_cells, set_cell_size

PanelRole = Literal["text", "dim", "frame", "focus", "title", "value", "accent", "raw", "good", "warn", "bad", "key"]
TokenRole = Literal["lit", "lit-sign", "lit-warn", "template", "cut", "cursor", "heat-1", "heat-2", "heat-3", "heat-4"]
SeriesRole = Literal["series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "series-8"]
Role = Literal[PanelRole, TokenRole, SeriesRole]
ROLES: tuple[Role, ...] = get_args(Role)
Span = tuple[str, Role]
Line = tuple[Span, ...]
_BETWEEN_WORDS = re.compile(r"\s+(?!(?<=\d )\d{3}(?!\d))")
"""Not the blank before the thousands of a number."""
_RUN_GAP = 8
"""Cells between two runs below which they are one; about what moving there and naming the style again takes."""

_ASCII = str.maketrans(
    {
        **dict.fromkeys("╭╮╰╯├┤┼", "+"),
        **dict.fromkeys("─–—", "-"),
        **dict.fromkeys("━╸╺", "="),
        **dict.fromkeys("│┃▉", "|"),
        **dict.fromkeys("●◆◉", "*"),
        **dict.fromkeys("█▊▋▌▐▓■", "#"),
        **dict.fromkeys("▍▎▏░·", "."),
        "▒": ":",
        **dict.fromkeys("▲△", "^"),
        **dict.fromkeys("▼▽", "v"),
        **dict.fromkeys("✖×", "x"),
        **dict.fromkeys("‖Ⅱ", "="),
        **dict.fromkeys("▶▸›", ">"),
        **dict.fromkeys("◐○◇", "o"),
        "…": "~",
        "°": " ",
        "⏎": "$",
        "✔": "+",
        "≈": "~",
        "±": "~",
        **dict.fromkeys("≤‹◂", "<"),
        "←": "<",
        "→": ">",
        "↑": "^",
        "↓": "v",
    }
)


EVEN = re.compile(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u2319\u2500-\u25fc\u2605\u2714\u2716\u2800-\u28ff]*"
)
"""Only characters of one cell each; there are more of them, but these are what most of a screen is made of."""


def line(*spans: Span) -> Line:
    """A line of its spans, empty ones left out."""
    return tuple([span for span in spans if span[0]])


@lru_cache(maxsize=4096)
def width(text: str) -> int:
    """How many terminal cells the text takes."""
    return cell_len(text)


def line_width(spans: Line) -> int:
    """How many terminal cells the line takes."""
    return sum([width(text) for text, _ in spans])


def fit(spans: Line, cells: int) -> Line:
    """The line at exactly `cells` cells: cut, with `…` where something is missing, or filled with blanks."""
    if cells <= 0:
        return ()
    missing = cells - line_width(spans)
    if missing >= 0:
        return (*spans, (" " * missing, "text")) if missing else spans
    kept: list[Span] = []
    left = cells - 1
    for text, role in spans:
        size = width(text)
        if size > left:
            kept.append((set_cell_size(text, left) + "…", role))
            break
        kept.append((text, role))
        left -= size
    return tuple(kept)


def spread(left: Line, right: Line, cells: int) -> Line:
    """`left` and `right` at the two ends of `cells` cells; what does not fit is cut from the left one."""
    room = cells - line_width(right)
    if room < 2:
        return fit(left, cells)
    return fit(left, room) + right


def first_fitting(forms: Sequence[Line], cells: int) -> Line:
    """The first form that fits, else the last one; nothing without any."""
    return next((form for form in forms if line_width(form) <= cells), forms[-1] if forms else ())


def joined(parts: Iterable[Line], gap: str = "   ") -> Line:
    """The parts that are not empty, with gaps between them."""
    spans: list[Span] = []
    for part in parts:
        if part:
            spans.extend([(gap, "text"), *part] if spans else part)
    return tuple(spans)


def to_ascii(spans: Line) -> Line:
    """The same line in ASCII, cell for cell."""
    return tuple((_ascii_text(text), role) for text, role in spans)


def text_of(spans: Line) -> str:
    """The line without its roles."""
    return "".join(text for text, _ in spans)


def changed_runs(old: Line, new: Line) -> list[tuple[int, int]]:
    """First and last + 1 of the cells in which two lines of equal width differ, run by run.

    Runs with little between them are one: to begin a run costs more than to send a few cells again.
    """
    if old == new:
        return []
    begin = next((place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    rest = min(len(old), len(new)) - begin
    end = next((back for back in range(rest) if old[-1 - back] != new[-1 - back]), rest)
    before, after = _cells(old[begin : len(old) - end]), _cells(new[begin : len(new) - end])
    if len(before) != len(after):
        return [(0, max(line_width(old), line_width(new)))]
    left = line_width(old[:begin])
    runs: list[tuple[int, int]] = []
    for place, (one, other) in enumerate(zip(before, after, strict=True), left):
        if one != other:
            if runs and place - runs[-1][1] < _RUN_GAP:
                runs[-1] = runs[-1][0], place + 1
            else:
                runs.append((place, place + 1))
    return runs


def wrapped(text: str, cells: int, role: Role = "text") -> list[Line]:
    """Words of the text in lines of at most `cells` cells; a word that is longer goes on in the next line.

    `86 776` is one word.
    """
    lines: list[str] = []
    words = _BETWEEN_WORDS.split(text.strip()) if text.strip() else ()
    for word in (piece for long in words for piece in chop_cells(long, max(cells, 2))):
        if lines and width(lines[-1]) + 1 + width(word) <= cells:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return [fit(((text_line, role),), cells) for text_line in lines] if cells > 0 else []


def wrapped_into(text: str, cells: int, rows: int, role: Role = "text") -> list[Line]:
    """The same in at most `rows` lines, at least one; the last one ends with `…` where something is missing."""
    lines = wrapped(text, cells, role)
    if len(lines) <= rows:
        return lines
    kept = lines[: max(rows, 1) - 1]
    rest = " ".join(text_of(one).strip() for one in lines[len(kept) :])
    return [*kept, fit(((rest, role),), cells)]


def merged(cells: Sequence[Span]) -> Line:
    """Neighbours of the same role as one span."""
    spans: list[Span] = []
    texts: list[str] = []
    current: Role | None = None
    for text, role in cells:
        if role != current and texts and current is not None:
            spans.append(("".join(texts), current))
            texts = []
        texts.append(text)
        current = role
    if texts and current is not None:
        spans.append(("".join(texts), current))
    return tuple(spans)


@lru_cache(maxsize=4096)
def _ascii_text(text: str) -> str:
    return "".join(character if character.isascii() else "?" * width(character) for character in text.translate(_ASCII))


def _cells(spans: Line) -> list[tuple[str, Role]]:
    cells: list[tuple[str, Role]] = []
    for text, role in spans:
        if EVEN.fullmatch(text):
            cells.extend([(character, role) for character in text])
            continue
        for character in text:
            size = width(character)
            if size == 0 and cells:  # a mark stands in the cell of the character before it
                cells[-1] = (cells[-1][0] + character, role)
            else:
                cells.append((character, role))
                cells.extend([("", role)] * (size - 1))
    return cells
