"""What is told of a key, and of all keys of a screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Need = Literal["control", "files", "inspect", "profile", "link"]
"""What a key can do nothing without: a run that takes commands, leave to write files, the machine where the run's data
and model are, a link to another machine.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """`keys` in Textual's names; `shown` as people write it, empty where another entry speaks for this one too.

    `hint` is for the key bar, empty to stay out of it. Where the bar is too narrow, the later ones are left out.
    """

    keys: tuple[str, ...]
    shown: str
    action: str
    hint: str
    help: str
    hint_at_end: str | None = None
    """The hint once there is no run going, where it differs."""
    needs: Need | None = None
    """Without that the key is not offered, and says why when it is pressed."""


@dataclass(frozen=True, slots=True)
class Table:
    """The keys of a screen in the order in which they are told: what it `does`, and behind it how one moves there."""

    does: tuple[Key, ...]
    moves: tuple[Key, ...] = ()
