"""What keys can do nothing without, and why it is lacking."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from pgs_tui.key_tables.key import Need

if TYPE_CHECKING:
    from pgs_tui.runs.source import Source

NEEDS: tuple[Need, ...] = get_args(Need)
READONLY: dict[Need, str] = {"control": "no key changes the run", "files": "no key writes a file"}


def lacking_at(source: Source, readonly: bool) -> frozenset[Need]:
    """What keys cannot use with a run from here."""
    return frozenset(need for need in NEEDS if why_not(source, readonly, need))


def lacking_in_list(is_elsewhere: bool, readonly: bool) -> frozenset[Need]:
    """What keys cannot use in a list of runs; what changes files on another machine is for the list over there."""
    if readonly:
        return frozenset(READONLY)
    return frozenset(("files",)) if is_elsewhere else frozenset()


def why_not(source: Source, readonly: bool, need: Need) -> str:
    """A sentence that says why something cannot be done with a run from here; empty where it can."""
    if need == "link":
        return "" if source.link() is not None else "nothing is between here and the run that could be lost"
    if readonly and need in READONLY:
        return f"{READONLY[need]}: it was opened with --readonly"
    return "" if need == "files" else source.why_not(need)
