"""The time that a logger puts before a line."""

from __future__ import annotations

import re
from datetime import datetime

_STAMP = re.compile(
    r"^[^\dA-Za-z]{0,8}(?:[A-Z]+[:\s]+)?[^\dA-Za-z]{0,4}"
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<second>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)


def seconds_in(line: str) -> float | None:
    """The time before a line in seconds, good for what lies between two lines: of which zone it is, few loggers say."""
    found = _STAMP.match(line)
    if found is None:
        return None
    try:
        whole = datetime.fromisoformat(f"{found['day']}T{found['second']}{found['zone'] or ''}")
    except ValueError:  # the 99th of a month
        return None
    return whole.timestamp() + float(f"0.{found['part'] or 0}")
