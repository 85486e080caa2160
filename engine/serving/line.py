"""JSON as every command prints it."""

from __future__ import annotations

import json
from typing import Any


def to_line(value: Any) -> str:
    """Strict JSON in one line, without the newline."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
