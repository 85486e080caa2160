"""Whatever keys are pressed in whatever terminal, the dashboard goes on."""

import random
from pathlib import Path

import pytest

from engine.events.control_line import parse_command
from pgs_tui.keys import bindings_of
from screens.dashboard.screen import DashboardScreen
from tests.screens.hosting import hosted, screen_text
from tests.screens.night import night

ELSEWHERE = ("leave", "detach", "ask_leave", "inspect", "profile", "enter", "copy")
"""Actions that leave the dashboard, or write a file."""
KEYS = [key for key, action, _ in bindings_of("dashboard") if action.partition("(")[0] not in ELSEWHERE]
SIZES = [(1, 1), (20, 5), (46, 40), (60, 15), (80, 24), (120, 36), (200, 50)]


@pytest.mark.parametrize("seed", range(2))
async def test_any_keys_in_any_order(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with hosted(tmp_path, chance.choice(SIZES)) as (app, pilot):
        await app.deliver(pilot, night(ranks=2, gpus=2))
        for place in range(30):
            await pilot.press(chance.choice(KEYS))
            if not isinstance(app.screen, DashboardScreen):
                await pilot.press("down", "escape")
            if place % 10 == 9:
                size = chance.choice(SIZES)
                await pilot.resize_terminal(*size)
                await pilot.pause()
                assert {len(row) for row in screen_text(app)} <= {size[0]}
        assert app.screen is app.dashboard
        asked = [parse_command(line) for line in _lines(tmp_path / "control.jsonl")]
        assert {one.cmd for one in asked} <= {"checkpoint", "evaluate"}, "what changes the run is asked first"


def _lines(control: Path) -> list[bytes]:
    return control.read_bytes().splitlines() if control.exists() else []
