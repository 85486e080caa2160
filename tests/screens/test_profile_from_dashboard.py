"""From a run to its memory: the profile screen over the dashboard."""

from pathlib import Path

import pytest

from engine.config import dump_config, load_config
from pgs_tui.profiling import client
from screens.profile.screen import ProfileScreen
from tests.screens.hosting import Host, hosted
from tests.screens.inspecting import until
from tests.screens.profiling import A100, CONFIG, fake, settled, texts
from tests.screens.scenes import training


@pytest.fixture
def run(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run's folder with its resolved config, and the fake in place of the engine."""
    monkeypatch.setattr(client, "profile_command", lambda: fake(*A100))
    (here / "try.yaml").write_text(CONFIG)
    resolved = load_config(here / "try.yaml", check_files=False).config
    (here / "config.yaml").write_text(dump_config(resolved))
    return here


async def opened(app: Host, pilot) -> ProfileScreen:
    await pilot.press("p")
    await until(pilot, lambda: isinstance(app.screen, ProfileScreen))
    screen = app.screen
    assert isinstance(screen, ProfileScreen)
    await settled(screen, pilot)
    return screen


async def test_p_shows_the_memory_of_the_run_and_escape_comes_back(run: Path) -> None:
    async with hosted(run) as (app, pilot):
        await app.deliver(pilot, training())
        screen = await opened(app, pilot)
        assert "✔ fits: needs 16.6" in texts(screen)["room"] and "leave, run goes on" in texts(screen)["keys"]
        await pilot.press("S")
        assert "a run goes on; write the changes with w" in texts(screen)["keys"]
        await pilot.press("tab", "escape", "escape")
        assert app.screen is app.dashboard
        await pilot.press("p")
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value is not None and "goes on at step 1 240" in app.return_value.farewell


async def test_without_a_run_p_says_so(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        app.dashboard.live = None
        await pilot.press("p")
        assert "there is no run yet" in app.texts["keys"]


async def test_a_run_without_its_config_says_why(run: Path) -> None:
    (run / "config.yaml").unlink()
    async with hosted(run) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ProfileScreen) and app.screen.profiling.problem)
        assert "config.yaml" in app.screen.profiling.problem
        await pilot.press("right", "1", "w", "S", "m", "escape")
        assert app.screen is app.dashboard
