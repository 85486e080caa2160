"""The pairs of a dict as Python or JSON prints it, on one line: `{'loss': 2.1, 'epoch': 0.02}`.

It is looked at, never evaluated: a log may hold anything. Values are those that a number can be read from, `nan` and
numbers in quotes too; what is nested is left out.
"""

from __future__ import annotations

import re

from engine.events.console_numbers import read_number

LONGEST = 64 * 1024
"""Characters; a longer line is no line of a step."""
_PAIR = re.compile(
    r"""(?:'(?P<one>[^'\\]{1,80})'|"(?P<two>[^"\\]{1,80})")\s*:\s*"""
    r"""(?:'(?P<quoted>[^'\\]{0,40})'|"(?P<double>[^"\\]{0,40})"|(?P<bare>[^\s,{}\[\]"']{1,40}))"""
)


def begin_of_dict(line: str) -> int | None:
    """Where the line's dict begins, None where the line does not end with one."""
    if len(line) > LONGEST or not line.endswith("}"):
        return None
    begin = line.find("{")
    return begin if begin >= 0 else None


def pairs_in(text: str) -> dict[str, float]:
    """The numbers by their names; of a name that stands there twice the first."""
    found: dict[str, float] = {}
    for one, two, quoted, double, bare in _PAIR.findall(text):
        name = one or two
        number = read_number(bare or quoted or double)
        if number is not None and name not in found:
            found[name] = number
    return found
