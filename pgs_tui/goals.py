"""What a person opened the program for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.rundir import RunDir


@dataclass(frozen=True, slots=True)
class StartConfig:
    """To train a config and watch it."""

    config: Path
    overrides: tuple[str, ...]
    name: str

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "checking config"


@dataclass(frozen=True, slots=True)
class AttachTo:
    """To watch a run that was started before."""

    run: RunDir
    name: str

    @property
    def first_words(self) -> str:
        """What goes on at first."""
        return "reading the log"
