"""Numbers of things, in words."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """`1 row`, `2,000 rows`: the number with its thousands apart, and an s behind all but one."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
