"""Text that says nothing: white space, and characters that have neither shape nor width."""

from __future__ import annotations

import re

_SOMETHING = re.compile(
    r"[^\s"
    "\u00ad\u034f\u061c\u180b-\u180e\ufeff"  # soft hyphen, joiners and marks without width, byte-order mark
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, direction
    "\u115f\u1160\u3164\uffa0"  # fillers
    "\ufe00-\ufe0f\U000e0000-\U000e0fff"  # variants of the character in front, tags
    "]"
)


def says_nothing(text: str) -> bool:
    """Whether nothing in the text can be seen, so that a model would learn from it only when to be silent."""
    return _SOMETHING.search(text) is None
