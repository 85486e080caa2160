"""The keys that a screen offers before anything is known of what it shows."""

from __future__ import annotations

from collections.abc import Collection

from pgs_tui.goals import AttachTo, ListRuns, Opened
from pgs_tui.key_tables.key import Need
from pgs_tui.keys import hints_of
from screens.needs import lacking_at, lacking_in_list


def first_hints(goal: Opened) -> list[tuple[str, str]]:
    """Those of its screen but the ones that can do nothing with what was opened so."""
    goes_on = goal.screen == "dashboard" and (not isinstance(goal, AttachTo) or "control" in goal.source.abilities)
    return hints_of(goal.screen, goes_on, _lacking(goal))


def _lacking(goal: Opened) -> Collection[Need]:
    if isinstance(goal, AttachTo):
        return lacking_at(goal.source, goal.readonly)
    if isinstance(goal, ListRuns):
        return lacking_in_list(goal.is_elsewhere, goal.readonly)
    return ()
