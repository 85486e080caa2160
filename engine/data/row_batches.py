"""Rows in batches, fewer together where they are long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.data.errors import BadRow
from engine.data.sources.rows import RawRow


def batched(rows: Iterable[RawRow | BadRow], most: int, characters: int) -> Iterator[list[RawRow | BadRow]]:
    """Lists of at most so many rows; one that reaches so many characters is closed."""
    batch: list[RawRow | BadRow] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += 0 if isinstance(row, BadRow) else characters_of(row.value)
        if len(batch) == most or size >= characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def characters_of(value: object) -> int:
    """How much text a value holds, roughly: lists of numbers count by their length."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(characters_of, value.values()))
    if isinstance(value, list):
        return sum(map(characters_of, value)) if value and isinstance(value[0], dict | list | str) else len(value)
    return 1
