from collections import Counter

from textual.binding import Binding

from pgs_tui.keys import KEYS, RESERVED, bindings_of, hints_of, keys_of
from screens.dashboard import DashboardScreen

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
}


def test_no_screen_gives_a_global_key_another_meaning() -> None:
    for entry in KEYS:
        for key in entry.keys:
            if entry.screen == "everywhere":
                assert key in RESERVED
                assert entry.action in MEANINGS[key]
            else:
                assert key not in RESERVED, f"{entry.screen} takes {key}"


def test_no_key_has_two_meanings() -> None:
    counted = Counter(key for key, _, _ in bindings_of("dashboard"))
    assert [key for key, count in counted.items() if count > 1] == []


def test_no_ctrl_letter_but_ctrl_c() -> None:
    assert {key for entry in KEYS for key in entry.keys if key.startswith("ctrl+")} == {"ctrl+c"}


def test_every_key_does_something() -> None:
    for _, action, _ in bindings_of("dashboard"):
        assert callable(getattr(DashboardScreen, f"action_{action.partition('(')[0]}"))


def test_the_bindings_of_the_dashboard_are_the_table() -> None:
    bound = {binding.key: binding.action for binding in Binding.make_bindings(DashboardScreen.BINDINGS)}
    assert bound == {key: action for key, action, _ in bindings_of("dashboard")}


def test_the_key_bar_ends_with_help_and_starts_with_how_to_leave() -> None:
    hints = hints_of("dashboard")
    assert hints[-1] == ("?", "help")
    assert hints[0] == ("q", "leave, run goes on")


def test_every_entry_that_is_shown_is_explained() -> None:
    assert all(entry.help for entry in keys_of("dashboard") if entry.shown)
    assert all(entry.shown for entry in keys_of("dashboard") if entry.hint)
