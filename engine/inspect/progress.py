"""How far a long reading of rows has come, in one line of the terminal that is wiped in the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_SECONDS = 0.5


@contextmanager
def shown_on_terminal(what: str, out: TextIO) -> Iterator[Callable[[int, int], None]]:
    """Inside, `progress(done, total)` shows the rows that are done; nothing is shown where `out` is no terminal."""
    shown_at = time.monotonic()
    longest = 0

    def progress(done: int, total: int) -> None:
        nonlocal shown_at, longest
        if out.isatty() and time.monotonic() - shown_at >= _SECONDS:
            shown_at = time.monotonic()
            text = f"{what} {done:,} of {total:,} rows"
            longest = max(longest, len(text))
            out.write(f"\r{text}")
            out.flush()

    try:
        yield progress
    finally:
        if longest:
            out.write(f"\r{' ' * longest}\r")
            out.flush()
