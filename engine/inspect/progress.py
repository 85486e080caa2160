"""How far something long has come, in one line of the terminal that is wiped in the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.data.sources.rows import ReadProgress
from engine.data.tokenized import Progress

_SECONDS = 0.5
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@contextmanager
def reading_shown(out: TextIO) -> Iterator[ReadProgress]:
    """Inside, `progress(what, done, total)` shows the bytes that are done; nothing where `out` is no terminal."""
    with _line_on(out) as say:
        yield lambda what, done, total: say(lambda: said_of_bytes(what, done, total))


@contextmanager
def rows_shown(what: str, out: TextIO) -> Iterator[Progress]:
    """Inside, `progress(done, total)` shows the rows that are done; nothing where `out` is no terminal."""
    with _line_on(out) as say:
        yield lambda done, total: say(lambda: f"{what} {done:,} of {total:,} rows")


def said_of_bytes(what: str, done: int, total: int) -> str:
    """`reading data 1.2 of 3.4 GB`."""
    if not done and not total:
        return what
    size = max(done, total)
    power = next((place for place in range(len(_UNITS) - 1) if size < 1000 ** (place + 1)), len(_UNITS) - 1)
    digits = 0 if power == 0 else 1
    counted = f"{done / 1000**power:.{digits}f}"
    if total <= done:
        return f"{what} {counted} {_UNITS[power]}"
    return f"{what} {counted} of {size / 1000**power:.{digits}f} {_UNITS[power]}"


@contextmanager
def _line_on(out: TextIO) -> Iterator[Callable[[Callable[[], str]], None]]:
    """Inside, `say` shows a text now and then; for what is over at once nothing is shown at all."""
    shown_at = time.monotonic()
    longest = 0

    def say(text: Callable[[], str]) -> None:
        nonlocal shown_at, longest
        if out.isatty() and time.monotonic() - shown_at >= _SECONDS:
            shown_at = time.monotonic()
            words = text()
            longest = max(longest, len(words))
            out.write(f"\r{words:<{longest}}")
            out.flush()

    try:
        yield say
    finally:
        if longest:
            out.write(f"\r{' ' * longest}\r")
            out.flush()
