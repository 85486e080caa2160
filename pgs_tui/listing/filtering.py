"""What a person writes to see only some of the runs: words, and `tag:x status:failed model:qwen`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pgs_tui.listing.row import RunRow
from pgs_tui.listing.words import state

KEYS = ("tag", "status", "model", "name", "note", "host")
_OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "live": ("running", "live"),
    "starting": ("running",),
    "elsewhere": ("running", "going"),
    "killed": ("dead", "broken"),
    "lost": ("dead",),
    "failed": ("broken",),
    "finished": ("done", "ended"),
    "stopped": ("ended",),
}
"""How people call a state, beside the word that the list has for it."""

Wanted = Callable[[RunRow], bool]


def wanted_by(written: str) -> Wanted:
    """Whether a run has all that was written. A word with a colon whose key is not known is a word like others."""
    asked = [_asked(word) for word in written.casefold().split()]
    return lambda row: all(one(row) for one in asked)


def _asked(word: str) -> Wanted:
    turned = word.startswith("-") and len(word) > 1
    key, colon, text = word.removeprefix("-").partition(":")
    if colon and key in KEYS:
        found = _having(key, text)
    elif turned:
        found = _containing(word[1:])
    else:
        found = _containing(word)
    return (lambda row: not found(row)) if turned else found


def _having(key: str, text: str) -> Wanted:
    """A tag and a state from their beginning, other facts wherever the text is in them; no text asks for any."""
    if key == "tag":
        return lambda row: any(tag.casefold().startswith(text) for tag in row.labels.tags)
    if key == "status":
        return lambda row: any(word.startswith(text) for word in _states(row))
    facts: Mapping[str, Callable[[RunRow], str]] = {
        "model": lambda row: row.summary.model if row.summary else "",
        "name": lambda row: f"{row.name}\n{row.shown}",
        "note": lambda row: row.labels.note,
        "host": lambda row: row.host,
    }
    fact = facts[key]
    return lambda row: bool(fact(row)) and text in fact(row).casefold()


def _containing(word: str) -> Wanted:
    return lambda row: word in searched(row)


def searched(row: RunRow) -> str:
    """All of a run in which words are looked for."""
    model = row.summary.model if row.summary else ""
    tags = (f"#{tag}" for tag in row.labels.tags)
    parts = (row.name, row.shown, row.host, model, row.tool or "", state(row)[1], row.labels.note, row.trouble, *tags)
    return "\n".join(parts).casefold()


def _states(row: RunRow) -> tuple[str, ...]:
    return (state(row)[1], *_OTHER_WORDS.get(row.life or "", ()))
