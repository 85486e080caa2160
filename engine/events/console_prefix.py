"""What may stand around a line of a log that was not put there by whoever wrote the line: colours, times, levels."""

from __future__ import annotations

import re

_COMMANDS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|$)|[ -/]*[0-~])|[\x00-\x08\x0b-\x1f\x7f]")
"""Sequences that steer a terminal, and control characters."""
_BAR = re.compile(r"\d{1,3}%\|[^|]*\|(?:\s*\d+/\d+)?")
"""A progress bar."""
_BRACKETED = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|<[^<>]*>")
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{1,2}\b|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|\d{10}(?:\.\d+)?"
)
_LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|[IWEF]\d{4})\b", re.I)
_WORD = re.compile(r"[\w./@-]*\w[\w./@-]*")
_NAMES = 2
"""Words besides time, level and brackets that a logger puts before a line: a host, its own name."""


def without_commands(line: str) -> str:
    """The line without what would steer a terminal, and without spaces around it.

    Of text that was written over by a carriage return the last is kept.
    """
    text = line.rstrip("\r\n").rpartition("\r")[2]
    return _COMMANDS.sub("", text).strip() if not text.isprintable() else text.strip()


def is_prefix(text: str) -> bool:
    """Whether this is nothing, or what a logger puts before a line: a bar, a time, a level, brackets, a name or two."""
    if not text or text.isspace():
        return True
    rest = text
    for pattern in (_BAR, _BRACKETED, _TIME, _LEVEL):
        rest = pattern.sub(" ", rest)
    return rest != text and len(_WORD.findall(rest)) <= _NAMES
