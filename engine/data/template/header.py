"""Where the header of an answer stands in the template text in front of it."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=1024)
def header_in(gap: str, prompt: str, added_tokens: re.Pattern[str]) -> tuple[int, int] | None:
    """Start and stop of the last place that begins like the generation prompt, or None.

    The two have to agree in whole tokens or lines: a prompt may go on, for example into an opened think block.
    """
    tokens = [match.end() for match in added_tokens.finditer(prompt)]
    shortest = tokens[0] if tokens else len(prompt.rstrip())
    for length in beginnings(prompt, added_tokens):
        start = gap.rfind(prompt[:length])
        if start >= 0 and length >= shortest:
            return start, start + length
    return None


def supplied_length(text: str, start: int, stop: int, prompt: str, added_tokens: re.Pattern[str]) -> int:
    """How many characters of this stretch of text begin like `prompt`, in whole tokens or lines."""
    return next((n for n in beginnings(prompt, added_tokens) if text.startswith(prompt[:n], start, stop)), 0)


@lru_cache(maxsize=64)
def beginnings(prompt: str, added_tokens: re.Pattern[str]) -> list[int]:
    """The lengths at which whole tokens or lines of a prompt end, the longest first."""
    tokens = [match.end() for match in added_tokens.finditer(prompt)]
    lines = [number for number, character in enumerate(prompt, start=1) if character == "\n"]
    return sorted({*tokens, *lines, len(prompt.rstrip()), len(prompt)} - {0}, reverse=True)
