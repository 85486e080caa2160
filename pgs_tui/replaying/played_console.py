"""The engine's log beside a run that is played: its lines have no times, but those of steps tell where they belong."""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from engine.events.text_reader import lines_of

MOST_BYTES = 16 * 2**20
"""Of a longer log the end is read."""
MOST_LINES = 2000
"""At once: no more are kept on the screen."""
_STEP = re.compile(r"(?<![\w.])step=(\d{1,15})(?![\w.])")


class PlayedConsole:
    """`lines` gives those that stood there once so many steps were told; `steps` are all in the order of the log."""

    def __init__(self, path: Path, steps: Sequence[int]) -> None:
        self._lines = _lines_of_file(path)
        self._needed = _steps_needed(self._lines, steps)

    def lines(self, shown: int, steps: int) -> tuple[str, ...]:
        """The lines behind the first `shown` ones that stand there after so many steps, the newest of them."""
        return self._lines[shown : self.count(steps)][-MOST_LINES:]

    def count(self, steps: int) -> int:
        """How many lines stand there after so many steps."""
        return bisect_left(self._needed, steps + 1)


def _lines_of_file(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            begin = max(os.fstat(file.fileno()).st_size - MOST_BYTES, 0)
            lines = lines_of(os.pread(file.fileno(), MOST_BYTES, begin), every_piece=False)
    except OSError:  # the log is an extra: without one the events are played all the same
        return ()
    return lines[1:] if begin else lines


def _steps_needed(lines: Sequence[str], steps: Sequence[int]) -> array[int]:
    """By line: after how many steps it stood there. Steps that were taken again are met in the order of the log."""
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, step in enumerate(steps):
        places[step].append(place)
    needed = array("q")
    now = 0
    for line in lines:
        if found := _STEP.search(line):
            here = places.get(int(found[1]), [])
            following = bisect_left(here, now - 1)
            now = here[following] + 1 if following < len(here) else now
        needed.append(now)
    return needed
