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
    lines = [number for number, character in enumerate(prompt, start=1) if character == "\n"]
    shortest = tokens[0] if tokens else len(prompt.rstrip())
    for length in sorted({*tokens, *lines, len(prompt.rstrip()), len(prompt)}, reverse=True):
        start = gap.rfind(prompt[:length])
        if start >= 0 and length and length >= shortest:
            return start, start + length
    return None
