"""From a run to its data: the inspect screen over the dashboard."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.events import Alert, End
from pgs_tui.inspection import client
from pgs_tui.runs.follow import Update
from screens.inspect.screen import InspectScreen
from tests.pgs_tui.making import stamped
from tests.screens.hosting import Host, hosted
from tests.screens.inspecting import CHATS, fake, texts, until
from tests.screens.scenes import training

SPIKE = Alert(
    id="s",
    state="open",
    code="SPIKE_SKIPPED",
    severity="warning",
    meaning="far above",
    step=1102,
    value=9.41,
    rows=(5, 1),
)
NO_ROWS = Alert(id="f", state="open", code="FLAT", severity="warning", meaning="flat", step=1200)


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, ...]]]:
    """The fake in place of the engine, and with which arguments it was started."""
    (tmp_path / "fake").mkdir()
    command, started = fake(tmp_path / "fake", CHATS), []

    def command_of(*arguments: str) -> tuple[str, ...]:
        started.append(arguments)
        return command

    monkeypatch.setattr(client, "command_of", command_of)
    assert sys.executable in command
    yield started


async def opened(app: Host, pilot) -> InspectScreen:
    await until(pilot, lambda: isinstance(app.screen, InspectScreen))
    screen = app.screen
    assert isinstance(screen, InspectScreen)
    await until(pilot, lambda: screen.view.reader is not None)
    return screen


async def test_i_inspects_the_data_of_the_run_and_escape_comes_back(tmp_path: Path, asked: list) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("i")
        screen = await opened(app, pilot)
        assert asked == [("--run", str(tmp_path))]
        assert "leave, run goes on" in texts(screen)["keys"]
        await app.deliver(pilot, training(1300))
        await pilot.press("enter", "escape", "escape")
        assert app.screen is app.dashboard
        assert "step 1 300/6 000" in app.texts["status"], "the dashboard has followed the run meanwhile"
        assert not (tmp_path / "control.jsonl").exists()


async def test_enter_on_an_alert_opens_its_rows(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(events=stamped(SPIKE), life="live"))
        await pilot.press("n")
        assert "Enter its rows" in app.texts["alerts"]
        await pilot.press("enter")
        screen = await opened(app, pilot)
        await until(pilot, lambda: screen.rows.source.row(1) is not None)
        assert "rows of step 1102" in texts(screen)["rows"]
        assert [screen.rows.source.row(place).row for place in (0, 1)] == [5, 1]
        assert "row 5" in texts(screen)["sample"]
        await pilot.press("down")
        await until(pilot, lambda: "row 1 " in texts(screen)["sample"])


async def test_enter_on_a_recorded_spike_shows_its_losses_worst_first(tmp_path: Path) -> None:
    (tmp_path / "spikes").mkdir()
    (tmp_path / "spikes" / "step-1102.json").write_text(json.dumps({}))
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await app.deliver(pilot, Update(events=stamped(SPIKE), life="live"))
        await pilot.press("n", "enter")
        screen = await opened(app, pilot)
        shown = texts(screen)
        assert "rows of step 1102, worst first" in shown["rows"]
        assert shown["rows"].index("8.500") < shown["rows"].index("1.250")
        assert "step 1 102 · loss 9.410 · grad norm inf" in shown["status"]
        assert "audit" not in shown
        assert "rows.jsonl:4" in shown["sample"]
        await pilot.press("enter")
        assert "1. worst of" in texts(screen)["token"]
        await pilot.press("w")
        assert "2. worst of" in texts(screen)["token"]
        await pilot.press("t")
        assert screen.view.reader is not None and screen.view.reader.token is not None
        assert f"{screen.view.reader.token.loss:.2f}" in texts(screen)["sample"]
        await pilot.press("escape", "escape")
        assert app.screen is app.dashboard


async def test_an_alert_without_rows_says_so(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("enter")
        assert "n goes to a mark" in app.texts["keys"]
        await app.deliver(pilot, Update(events=stamped(NO_ROWS), life="live"))
        await pilot.press("n", "enter")
        assert "about no rows in particular" in app.texts["keys"]
        assert app.screen is app.dashboard


async def test_leaving_from_there_is_leaving_the_dashboard(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("i")
        await opened(app, pilot)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_value is not None
    assert "goes on at step 1 240" in app.return_value.farewell


async def test_ctrl_c_asks_there_too(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("i")
        await opened(app, pilot)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "The run does not need the dashboard" in "\n".join(
            strip.text for strip in app.screen._compositor.render_strips()
        )
        await pilot.press("escape")
        assert isinstance(app.screen, InspectScreen)


async def test_the_run_that_ends_meanwhile_is_no_longer_said_to_go_on(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        end = End(status="finished", reason="", exit_code=0, last_step=1)
        await app.deliver(pilot, Update(events=stamped(end), life="gone"))
        await pilot.press("i")
        screen = await opened(app, pilot)
        assert "run goes on" not in texts(screen)["keys"]
