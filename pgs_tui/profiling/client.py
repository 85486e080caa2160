"""The profiler's process: which command serves, and what its answers are made into."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from pgs_tui.profiling.shapes import SHAPES
from pgs_tui.serving.client import Deliver, Server


def profile_command() -> tuple[str, ...]:
    """The command that serves: `pgs profile --serve`."""
    return (sys.executable, "-m", "engine", "profile", "--serve")


def open_profiler(
    deliver: Deliver, command: Sequence[str] | None = None, environment: Mapping[str, str] | None = None
) -> Server:
    """Start the profiler, which must be closed; `command` replaces its own. Raises OSError when it cannot be started.

    Results are `Profile` (estimate), tuples of `GpuChoice` (gpus) and `Measuring` (all about measuring).
    """
    return Server(command or profile_command(), SHAPES, deliver, environment, name="the profiler")
