"""The inspector's process: a server whose answers have the shapes of the inspector."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from pgs_tui.inspection.shapes import SHAPES
from pgs_tui.serving.client import Answer, Deliver, Ended, Server

__all__ = ["Answer", "Ended", "Inspector", "command_of"]


def command_of(*arguments: str) -> tuple[str, ...]:
    """The command that serves: `pgs inspect ... --serve`."""
    return (sys.executable, "-m", "engine", "inspect", *arguments, "--serve")


class Inspector(Server):
    """The process of `command`; `deliver` as for every server."""

    def __init__(self, command: Sequence[str], deliver: Deliver, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(command, SHAPES, deliver, environment, name="the inspector")
