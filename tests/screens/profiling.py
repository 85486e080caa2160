"""The profile screen in a terminal of any size, with a fake profiler that is a real process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import patch

from textual.pilot import Pilot

from pgs_tui.appearance.look import Look
from pgs_tui.apps.profile import ProfileApp
from pgs_tui.apps.themed import Goodbye
from pgs_tui.drawing.lines import text_of
from pgs_tui.goals import ProfileConfig
from screens.profile.screen import ProfileScreen
from tests.screens.inspecting import until

FAKE = Path(__file__).parents[1] / "pgs_tui" / "fake_profiler.py"
A100 = ("--card", "A100-SXM4-40GB", "39.4", "39.4")
HELD = ("--card", "A100-SXM4-80GB", "80", "50")
CONFIG = """\
# Comments stay.
model:
  name_or_path: Qwen/Qwen3.5-4B  # which one
  compile: true

data:
  dataset: chats.jsonl
  max_seq_length: 2048  # tokens
  packing: true

train:
  per_device_batch_size: 2  # lines
  gradient_checkpointing: selective
  optimizer: lion8bit

memory:
  gradient_release: true
"""


def fake(*options: str) -> tuple[str, ...]:
    """The command of a fake profiler."""
    return (sys.executable, str(FAKE), *options)


def texts(screen: ProfileScreen) -> dict[str, str]:
    """The text of everything on the screen, by id."""
    return {str(one.id): "\n".join(text_of(row) for row in one.lines) for one in screen.drawn if one.display}


def row_of(screen: ProfileScreen, name: str) -> str:
    """The line of a setting, as it is shown."""
    return next(row for row in texts(screen)["settings"].splitlines() if f" {name} " in row)


async def settled(screen: ProfileScreen, pilot: Pilot[Goodbye]) -> None:
    """Wait until what is shown is what is asked about, and the advice is there."""
    await until(pilot, lambda: not screen.profiling.is_behind and screen.profiling.profile)
    await pilot.pause()


@asynccontextmanager
async def profiling(
    folder: Path,
    *options: str,
    size: tuple[int, int] = (120, 36),
    look: Look | None = None,
    overrides: tuple[str, ...] = (),
    gpu: str | None = None,
    config: str = CONFIG,
    command: tuple[str, ...] = (),
    wait: bool = True,
) -> AsyncIterator[tuple[ProfileScreen, Pilot[Goodbye]]]:
    """With an A100 of 40 GB in the machine, unless other options are given."""
    path = folder / "try.yaml"
    path.write_text(config)
    goal = ProfileConfig(path, overrides, "try", gpu)
    app = ProfileApp(goal, look or Look(), command or fake(*(options or A100)))
    with patch("screens.profile.screen.LOOK_SECONDS", 0.05):  # nobody waits here for what is asked in a quiet moment
        async with app.run_test(size=size) as pilot:
            if wait:
                await settled(app.profile_screen, pilot)
            yield app.profile_screen, pilot
