"""What a screen shows, kept in a file: its text, and below it the style of every cell.

After a change on purpose, `PGS_WRITE_SNAPSHOTS=1 python -m pytest tests/screens` writes them anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

from rich.style import Style
from textual.app import App

FOLDER = Path(__file__).parent / "snapshots"
LETTERS = ascii_letters + digits
SEPARATOR = "======"


def check_snapshot(app: App[Any], name: str) -> None:
    """The screen looks as it is kept under the name."""
    path = FOLDER / f"{name}.txt"
    found = picture(app)
    if os.environ.get("PGS_WRITE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(found)
    assert found == path.read_text(), f"{path.name} shows something else"


def picture(app: App[Any]) -> str:
    """The text, a letter for the style of each cell, and what the letters mean."""
    texts: list[str] = []
    styles: list[str] = []
    legend: dict[str, str] = {}
    for strip in app.screen._compositor.render_strips()[: app.size.height]:
        texts.append(strip.text.rstrip())
        cells = ((told(segment.style), segment.cell_length) for segment in strip)
        styles.append("".join(legend.setdefault(style, LETTERS[len(legend)]) * size for style, size in cells))
    meanings = [f"{letter} {style}" for style, letter in legend.items()]
    return "\n".join((*texts, SEPARATOR, *styles, SEPARATOR, *meanings)) + "\n"


def told(style: Style | None) -> str:
    """The style in words."""
    return " ".join(_parts(style or Style())) or "none"


def _parts(style: Style) -> Iterator[str]:
    for name in ("bold", "dim", "italic", "underline", "reverse", "strike"):
        if getattr(style, name):
            yield name
    if style.color:
        yield style.color.name
    if style.bgcolor:
        yield f"on {style.bgcolor.name}"
