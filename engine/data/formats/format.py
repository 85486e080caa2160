"""What a format has to say of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.data.conversation import Example
from engine.data.sources.rows import RawRow


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a row.

    `shape` tells people what it looks like. `trained_key(row)` is the key that holds what is trained, None where the
    row lacks a key that the format needs. `parse` checks a row that has these keys.
    """

    shape: str
    trained_key: Callable[[Mapping[str, Any]], str | None]
    parse: Callable[[RawRow], Example]
