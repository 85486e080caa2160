"""Keys that come in one write, as over a slow link or on a busy machine: each goes to what the one before it opened."""

from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.events import Key
from textual.keys import _character_to_key

from pgs_tui.inspection import client
from screens.dialogs.filter_prompt import FilterPrompt
from screens.dialogs.help import HelpScreen
from screens.inspect.screen import InspectScreen
from tests.screens.hosting import hosted
from tests.screens.inspecting import CHATS, fake, inspecting, texts, until
from tests.screens.scenes import training


def typed(app: App[Any], *keys: str) -> None:
    """In one go, each a key by its name, or a letter."""
    for key in keys:
        name = key if len(key) > 1 else _character_to_key(key)
        app.post_message(Key(name, key if len(key) == 1 else None))


async def test_what_is_typed_behind_the_key_that_opens_a_line_is_written_there(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        typed(app, "/", *"quick", "enter", "?")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert app.dashboard.log_panel.only == "quick"


async def test_a_key_behind_the_one_that_closes_a_line_is_for_the_screen_below(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        await pilot.press("slash")
        assert isinstance(app.screen, FilterPrompt)
        typed(app, *"abc", "escape", "?")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert app.dashboard.log_panel.only == ""


async def test_a_key_behind_the_one_that_opens_another_screen_is_for_that_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fake").mkdir()
    command = fake(tmp_path / "fake", CHATS)
    monkeypatch.setattr(client, "command_of", lambda *arguments: command)
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        typed(app, "i", "?")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert isinstance(app.screen_stack[-2], InspectScreen)
        typed(app, "escape", "escape", "?")
        await until(pilot, lambda: [type(one) for one in app.screen_stack] == [type(app.dashboard), HelpScreen])


async def test_an_answer_typed_behind_its_question_is_the_answer_to_it(tmp_path: Path) -> None:
    async with hosted(tmp_path) as (app, pilot):
        await app.deliver(pilot, training())
        typed(app, "e", "down", "escape", "x", "escape", "/", "a", "enter")
        await until(pilot, lambda: app.dashboard.log_panel.only == "a")
        assert app.screen is app.dashboard and app.return_value is None


async def test_a_filter_of_rows_is_written_whole(tmp_path: Path) -> None:
    async with inspecting(tmp_path) as (screen, pilot):
        typed(screen.app, "/", *"peru", "enter", "down", "enter")
        await until(pilot, lambda: screen.rows.source.filter.written == "peru")
        assert "Peru" in texts(screen)["rows"]
