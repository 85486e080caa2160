"""Names by which runs of one config can be told apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pgs_tui.listing.row import RunRow

_STAMP = re.compile(r"\d{4}(\d\d)(\d\d)-(\d\d)(\d\d)\d\d-")
"""How the folder of a run begins: when it was started."""


def told_apart(rows: Sequence[RunRow]) -> dict[Path, str]:
    """The name of each run by its folder: that of its config, with when it was started where others are called alike.

    The time of day is enough where they are of one day. A folder of another form is told by its own name.
    """
    counts = Counter(row.name for row in rows)
    days: dict[str, set[str]] = {}
    for row in rows:
        if counts[row.name] > 1:
            days.setdefault(row.name, set()).add(row.path.name[:8])
    return {row.path: row.name if counts[row.name] == 1 else _with_time(row, len(days[row.name]) > 1) for row in rows}


def _with_time(row: RunRow, with_day: bool) -> str:
    stamp = _STAMP.match(row.path.name)
    if stamp is None:
        return row.path.name
    month, day, hour, minute = stamp.groups()
    return f"{row.name} {month}-{day} {hour}:{minute}" if with_day else f"{row.name} {hour}:{minute}"
