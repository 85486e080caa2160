"""Characters that a reader does not see and a model does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from engine.data.counted import counted

_SHOWN = 5
_JOINERS = "\u200c\u200d"  # part of ordinary writing between letters of many scripts, and inside emoji
_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters but tab and line ends
    "\u00a0\u2007\u202f"  # spaces without a break
    "\u00ad\u034f\u061c\u180e\ufeff"  # soft hyphen, joiners and marks without width, byte-order mark
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u2028\u2029"  # zero width, direction, separators
    "\u115f\u1160\u3164\uffa0"  # fillers
    "\U000e0000-\U000e007f"  # tags
    "]"
    f"|(?<![^\x00-\x7f])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\x7f])"
)
_HIDDEN_BYTES = bytes(byte for byte in range(128) if _HIDDEN.match(chr(byte)))


def hidden_characters(texts: Iterable[str]) -> Counter[str]:
    """How often each hidden character stands in the texts, in the order in which they appear."""
    return Counter(character for text in texts if may_hide(text) for character in _found(text))


def may_hide(text: str) -> bool:
    """Whether there may be a hidden character in a text; False is certain, and quickly found."""
    if not text.isascii():
        return _HIDDEN.search(text) is not None
    return len(text.encode().translate(None, _HIDDEN_BYTES)) < len(text)


def told(found: Counter[str]) -> str:
    """What was found, in words."""
    names = ", ".join(code_point(character) for character in list(found)[:_SHOWN])
    more = ", ..." if len(found) > _SHOWN else ""
    return f"{counted(found.total(), 'character')} that a reader does not see and the model does ({names}{more})"


def _found(text: str) -> list[str]:
    return _HIDDEN.findall(text)


def code_point(character: str) -> str:
    """As people write it: U+200B."""
    return f"U+{ord(character):04X}"
