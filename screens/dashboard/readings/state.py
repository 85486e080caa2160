"""A state of a run as it is told."""

from __future__ import annotations

from dataclasses import dataclass

from pgs_tui.drawing.lines import Role


@dataclass(frozen=True, slots=True)
class State:
    """`sentence` and `more` are empty where sign and word say it all."""

    sign: str
    word: str
    role: Role
    sentence: str = ""
    more: str = ""
