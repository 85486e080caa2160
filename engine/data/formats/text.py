"""Rows of plain text."""

from __future__ import annotations

from engine.data.conversation import Document, Part
from engine.data.formats.fields import optional_text
from engine.data.formats.format import Format
from engine.data.sources.rows import RawRow


def parse_text(raw: RawRow) -> Document:
    """All of it is trained.

    Raises:
        BadRowError: it is no string.
    """
    return Document(raw.row, raw.file, raw.line, (Part("text", optional_text(raw, "text")),))


TEXT = Format(shape="'text' (plain text)", trained_key=lambda row: "text" if "text" in row else None, parse=parse_text)
