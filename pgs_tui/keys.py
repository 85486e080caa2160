"""Every key of every screen, once. Bindings, the key bar and the help page are all made from these tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pgs_tui.key_tables.compare import COMPARE
from pgs_tui.key_tables.dashboard import DASHBOARD
from pgs_tui.key_tables.everywhere import CLOSING, LEAVE, LOOKS
from pgs_tui.key_tables.inspect import INSPECT
from pgs_tui.key_tables.key import Key, Need, Table
from pgs_tui.key_tables.picker import PICKER
from pgs_tui.key_tables.profile import PROFILE
from pgs_tui.key_tables.replay import REPLAY
from pgs_tui.key_tables.runs import RUNS

ScreenName = Literal["dashboard", "inspect", "picker", "profile", "runs", "compare", "replay"]

TABLES: Mapping[ScreenName, Table] = {
    "dashboard": DASHBOARD,
    "inspect": INSPECT,
    "picker": PICKER,
    "profile": PROFILE,
    "runs": RUNS,
    "compare": COMPARE,
    "replay": REPLAY,
}

BESIDES: Mapping[ScreenName, ScreenName] = {"replay": "dashboard"}
"""Screens that have the keys of another one too, but those that they give another meaning."""

RESERVED: dict[str, str] = {
    "q": "leave",
    "question_mark": "help",
    "slash": "filter",
    "enter": "in",
    "escape": "one layer out",
    "tab": "next pane",
    "shift+tab": "previous pane",
    "ctrl+c": "leave",
    **dict.fromkeys(("up", "down", "left", "right", "h", "j", "k", "l"), "move"),
    "home": "to the start",
    "end": "to the end",
}
"""Keys that mean the same on every screen. A screen never gives one of them another meaning."""


def keys_of(screen: ScreenName, lacking: Collection[Need] = ()) -> Iterator[Key]:
    """The keys that work on the screen, in the order in which they are told; none that needs what is lacking."""
    table = _table_of(screen)
    for entry in (*LEAVE, *table.does, *LOOKS, *table.moves, *CLOSING):
        if entry.needs not in lacking:
            yield entry


def _table_of(screen: ScreenName) -> Table:
    own = TABLES[screen]
    if screen not in BESIDES:
        return own
    other = TABLES[BESIDES[screen]]
    taken = {key for entry in (*own.does, *own.moves) for key in entry.keys}
    return Table((*own.does, *_without(taken, other.does)), (*own.moves, *_without(taken, other.moves)))


def _without(taken: Collection[str], entries: Sequence[Key]) -> Iterator[Key]:
    for entry in entries:
        if left := tuple(key for key in entry.keys if key not in taken):
            yield replace(entry, keys=left)


def bindings_of(screen: ScreenName) -> Iterator[tuple[str, str, str]]:
    """Textual's bindings: key, action, description. A key out of several for one action is the action's argument."""
    for entry in keys_of(screen):
        several = entry.action in ("toggle_panel", "toggle_run", "apply_change")
        for key in entry.keys:
            yield key, f"{entry.action}({key!r})" if several else entry.action, entry.help


def hints_of(screen: ScreenName, going: bool = True, lacking: Collection[Need] = ()) -> list[tuple[str, str]]:
    """Key and meaning for the key bar, help last. `going` says that there is a run which the keys act on."""
    hints = ((entry.shown, _hint(entry, going)) for entry in keys_of(screen, lacking))
    return [(shown, hint) for shown, hint in hints if hint]


def _hint(entry: Key, going: bool) -> str:
    return entry.hint if going or entry.hint_at_end is None else entry.hint_at_end


def fitting(hints: Sequence[tuple[str, str]], columns: int) -> list[tuple[str, str]]:
    """The hints that fit into a line; the later ones are left out first, but the last one (help) always stays."""
    kept = list(hints)
    while len(kept) > 1 and sum(len(key) + len(meaning) + 3 for key, meaning in kept) - 1 > columns:
        del kept[-2]
    return kept
