"""Whether somebody is woken when something critical happens, and how."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waking:
    """What happens when something critical does: the terminal's bell, and a command for the shell."""

    rings: bool = False
    command: str | None = None


SILENT = Waking()
"""Nobody is woken."""
