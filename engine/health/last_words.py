"""How a program in Python ends with an error, as its log shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.events.console_prefix import without_commands

_TRACEBACK = "Traceback (most recent call last)"
_ERROR = re.compile(
    r"^(?:\[?rank\s*\d+\]?:?\s*)?(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit))(?:: (?P<text>.*))?$"
)
_MEMORY = re.compile(r"out of memory|can't allocate memory", re.I)
_ASKED = re.compile(r"Tried to allocate (?P<amount>[\d.]+ [KMGT]i?B)")
_FREE = re.compile(r"of which (?P<amount>[\d.]+ [KMGT]i?B) is free")


@dataclass(frozen=True, slots=True)
class LastWords:
    """The error with which a program ended; `asked` and `free` of one that found no memory, as it says them."""

    error: str
    is_out_of_memory: bool = False
    asked: str | None = None
    free: str | None = None


class Tracebacks:
    """Takes the lines of a log in order and finds the error behind each traceback."""

    def __init__(self) -> None:
        self._is_inside = False

    def take(self, line: str) -> LastWords | None:
        """The error that this line names, at the end of a traceback."""
        text = without_commands(line)
        if _TRACEBACK in text:
            self._is_inside = True
            return None
        found = _ERROR.match(text) if self._is_inside else None
        if found is None:
            return None
        self._is_inside = False
        words = found["text"] or ""
        error = f"{found['kind'].rpartition('.')[2]}: {words}" if words else found["kind"]
        is_memory = _MEMORY.search(words) is not None or found["kind"].endswith(("OutOfMemoryError", "MemoryError"))
        return LastWords(error, is_memory, _amount(_ASKED, words), _amount(_FREE, words))


def _amount(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found["amount"] if found else None
