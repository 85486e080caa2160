"""With the inspector open on a long row: sizes no terminal should have, while the log goes on."""

from functools import partial
from pathlib import Path

import pytest

from pgs_tui.apps.dashboard import PgsApp
from pgs_tui.inspection import client
from screens.inspect.screen import InspectScreen
from tests.screens.hosting import hosted, screen_text
from tests.screens.inspecting import fake, texts, until
from tests.screens.scenes import training

LONG = {"turns": [["user", "word " * 4000], ["assistant", "ok"]]}


def fills(app: PgsApp, width: int) -> bool:
    return {len(row) for row in screen_text(app)} == {width}


async def test_the_inspector_stays_open_on_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fake").mkdir()
    command = fake(tmp_path / "fake", [{"turns": [["user", "a"], ["assistant", "b"]]}, LONG])
    monkeypatch.setattr(client, "command_of", lambda *arguments: command)
    async with hosted(tmp_path, (80, 24)) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, InspectScreen))
        screen = app.screen
        assert isinstance(screen, InspectScreen)
        await until(pilot, lambda: screen.rows.source.row(1) is not None)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "row 1 " in texts(screen).get("sample", ""))
        for step, size in enumerate([(20, 5), (1, 1), (200, 2), (2, 60)], 1300):
            await pilot.resize_terminal(*size)
            await app.deliver(pilot, training(step))
            await until(pilot, partial(fills, app, size[0]))
            await pilot.press("down", "right")
        await pilot.resize_terminal(80, 24)
        await until(pilot, partial(fills, app, 80))
        assert screen.is_current and "row 1 " in texts(screen)["sample"]
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        assert "step 1 303/6 000" in app.texts["status"]
