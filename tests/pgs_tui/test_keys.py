from collections import Counter
from pathlib import Path

import pytest
from textual.binding import Binding

from pgs_tui.drawing.lines import text_of
from pgs_tui.key_tables.everywhere import CLOSING, LEAVE, LOOKS
from pgs_tui.keys import RESERVED, TABLES, ScreenName, bindings_of, hints_of, keys_of
from screens.dashboard.replay import ReplayScreen
from screens.dashboard.screen import DashboardScreen
from screens.dialogs.help import HelpScreen
from screens.inspect.screen import InspectScreen
from screens.picker.screen import PickerScreen
from screens.profile.screen import ProfileScreen
from screens.runs.screen import RunsScreen
from tests.screens.hosting import hosted

MEANINGS = {
    "q": {"leave"},
    "question_mark": {"help"},
    "escape": {"out"},
    "tab": {"next_pane"},
    "shift+tab": {"previous_pane"},
    "ctrl+c": {"ask_leave"},
    "up": {"up"},
    "k": {"up"},
    "down": {"down"},
    "j": {"down"},
    "home": {"first"},
    "end": {"last"},
    "left": {"left"},
    "h": {"left"},
    "right": {"right"},
    "l": {"right"},
    "slash": {"filter"},
    "enter": {"enter"},
}
SCREENS: dict[ScreenName, type] = {
    "dashboard": DashboardScreen,
    "inspect": InspectScreen,
    "picker": PickerScreen,
    "profile": ProfileScreen,
    "runs": RunsScreen,
    "replay": ReplayScreen,
}
SHARED = {"g", "c"}
"""Keys of no global meaning that happen to do the same on every screen."""


def test_no_screen_gives_a_global_key_another_meaning() -> None:
    for screen in TABLES:
        for entry in keys_of(screen):
            for key in entry.keys:
                assert key not in RESERVED or entry.action in MEANINGS[key], f"{screen} takes {key}"
    assert {key for entry in (*LEAVE, *LOOKS, *CLOSING) for key in entry.keys} - set(RESERVED) == SHARED


@pytest.mark.parametrize("screen", TABLES)
def test_no_key_has_two_meanings(screen: ScreenName) -> None:
    counted = Counter(key for key, _, _ in bindings_of(screen))
    assert [key for key, count in counted.items() if count > 1] == []


def test_no_ctrl_letter_but_ctrl_c() -> None:
    used = {key for screen in TABLES for key, _, _ in bindings_of(screen)}
    assert {key for key in used if key.startswith("ctrl+")} == {"ctrl+c"}


def test_what_needs_something_that_is_lacking_is_not_offered() -> None:
    offered = {entry.action for entry in keys_of("dashboard", lacking=("control", "files"))}
    assert offered.isdisjoint({"stop", "pause", "checkpoint", "evaluate", "rate", "write", "export"})
    assert {"leave", "help", "inspect", "zoom_in"} <= offered
    assert "stop…" not in dict(hints_of("dashboard", lacking=["control"])).values()


def test_a_replay_has_the_keys_of_the_dashboard_but_those_it_gives_another_meaning() -> None:
    actions = {key: action for key, action, _ in bindings_of("replay")}
    assert (actions["space"], actions["comma"], actions["less_than_sign"]) == ("play", "step_back", "pan_left")
    assert actions["plus"] == "zoom_in"


@pytest.mark.parametrize("screen", SCREENS)
def test_every_key_does_something(screen: ScreenName) -> None:
    for _, action, _ in bindings_of(screen):
        assert callable(getattr(SCREENS[screen], f"action_{action.partition('(')[0]}"))


@pytest.mark.parametrize("screen", SCREENS)
def test_the_bindings_of_a_screen_are_the_table(screen: ScreenName) -> None:
    bound = {binding.key: binding.action for binding in Binding.make_bindings(SCREENS[screen].BINDINGS)}
    assert bound == {key: action for key, action, _ in bindings_of(screen)}


def test_the_key_bar_ends_with_help_and_starts_with_how_to_leave() -> None:
    hints = hints_of("dashboard")
    assert hints[-1] == ("?", "help")
    assert hints[0] == ("q", "leave, run goes on")


@pytest.mark.parametrize("screen", TABLES)
def test_every_entry_that_is_shown_is_explained(screen: ScreenName) -> None:
    assert all(entry.help for entry in keys_of(screen) if entry.shown)
    assert all(entry.shown for entry in keys_of(screen) if entry.hint)


DOCS = Path(__file__).parents[2] / "docs" / "dashboard.md"
HELP_SIZE = (100, 80)


def test_the_documentation_lists_the_keys_of_the_dashboard_as_the_help_page_does() -> None:
    rows = [row.strip() for row in DOCS.read_text().splitlines() if row.startswith("| `")]
    assert rows == [f"| `{entry.shown}` | {entry.help} |" for entry in keys_of("dashboard") if entry.shown]


async def test_bindings_key_bar_and_help_page_of_the_dashboard_agree(tmp_path: Path) -> None:
    async with hosted(tmp_path, HELP_SIZE) as (app, pilot):
        offered = app.texts["keys"]
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        page = " ".join(" ".join(map(text_of, app.screen._page.lines)).replace("│", " ").split())
        for entry in keys_of("dashboard", app.live.lacking):
            assert not entry.shown or f"{entry.shown} {entry.help}" in page, entry.shown
            assert all(key in app.dashboard._bindings.key_to_bindings for key in entry.keys)
        hints = hints_of("dashboard")
        assert [f"{key} {hint}" in offered for key, hint in hints[:6]] == [True] * 6
