from pathlib import Path
from threading import Event

import pytest
from textual.pilot import Pilot

from pgs_tui.appearance.look import Look
from pgs_tui.apps.dashboard import Goodbye, PgsApp
from pgs_tui.goals import StartConfig
from pgs_tui.runs.launcher import Launched, Recipe
from tests.screens.hosting import screen_text

QUICKSTART = Path(__file__).parents[2] / "configs" / "quickstart.yaml"


async def shown(app: PgsApp, pilot: Pilot[Goodbye], text: str) -> None:
    while text not in screen_text(app)[0]:
        await pilot.pause(0.02)


async def test_leaving_while_the_engine_starts_does_not_claim_that_nothing_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    left = Event()

    def slow_start(recipe: Recipe) -> Launched:
        left.wait(30)
        raise OSError("too late to matter")

    app = PgsApp(StartConfig(QUICKSTART, (), "quickstart"), Look(), slow_start)
    async with app.run_test() as pilot:
        await shown(app, pilot, "starting the engine")
        await pilot.press("q")
        await pilot.pause()
        left.set()
    assert app.return_value is not None
    assert "being started" in app.return_value.farewell
    assert "pgs-tui attach" in app.return_value.farewell
