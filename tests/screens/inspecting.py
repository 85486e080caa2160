"""The inspect screen in a terminal of any size, with a fake inspector that is a real process."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from pgs_tui.appearance.look import Look
from pgs_tui.apps.inspect import InspectApp
from pgs_tui.apps.themed import Goodbye
from pgs_tui.drawing.lines import text_of
from pgs_tui.goals import InspectData
from screens.inspect.screen import InspectScreen

FAKE = Path(__file__).parents[1] / "pgs_tui" / "fake_inspector.py"
CHATS: list[dict[str, Any]] = [
    {"turns": [["user", "Capital of Peru?"], ["assistant", "Lima"]]},
    {"turns": [["user", "Capital of Cuba?"], ["assistant", "Havana"]]},
    {"turns": [["user", "Capital of Chile?"], ["assistant", ""]], "flags": ["EMPTY_ANSWER"]},
    {"turns": [["system", "Be brief."], ["user", "Rain?"], ["tool", "wet"], ["assistant", "Yes"]]},
    {"turns": [], "flags": ["UNKNOWN_SCHEMA"]},
    {"turns": [["user", "last"], ["assistant", "one"]], "flags": ["TRUNCATED"]},
]
PATIENCE = 600


def fake(path: Path, rows: list[dict[str, Any]], *options: str) -> tuple[str, ...]:
    """The command of a fake inspector."""
    file = path / "rows.json"
    file.write_text(json.dumps(rows))
    return (sys.executable, str(FAKE), str(file), *options)


def texts(screen: InspectScreen) -> dict[str, str]:
    """The text of everything on the screen, by id."""
    return {str(one.id): "\n".join(text_of(row) for row in one.lines) for one in screen.drawn if one.display}


async def until(pilot: Pilot[Any], true: Callable[[], object]) -> None:
    """Wait until it is true."""
    for _ in range(PATIENCE):
        await pilot.pause(0.02)
        if true():
            return
    raise AssertionError("waited in vain")


@asynccontextmanager
async def inspecting(
    path: Path,
    rows: list[dict[str, Any]] | None = None,
    *options: str,
    size: tuple[int, int] = (120, 36),
    look: Look | None = None,
    row: int | None = None,
    command: tuple[str, ...] = (),
    settled: bool = True,
) -> AsyncIterator[tuple[InspectScreen, Pilot[Goodbye]]]:
    goal = InspectData(("--config", "c.yaml"), "capitals", row)
    app = InspectApp(goal, look or Look(), command or fake(path, CHATS if rows is None else rows, *options))
    async with app.run_test(size=size) as pilot:
        screen = app.inspect_screen
        if settled:
            await until(pilot, lambda: screen.inspecting.audit and screen.view.reader and screen.view.reader.tokens)
        yield screen, pilot
