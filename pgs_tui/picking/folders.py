"""How people write a folder."""

from __future__ import annotations

from pathlib import Path


def folder_name(folder: Path) -> str:
    """The folder as people write it."""
    try:
        below = folder.relative_to(Path.home())
    except (ValueError, RuntimeError):  # not below the home folder, or there is none
        return str(folder)
    return f"~/{below}" if below.parts else "~"
