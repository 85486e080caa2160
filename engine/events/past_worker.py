"""A program that reads the past of a log for somebody who must not wait: one of several that share the work.

`python -m engine.events.past_worker WORKER WORKERS SIZE PAST [FETCHED]` with the log, of SIZE bytes, as its stdin. It
writes pickled portions to stdout: worker 0 a survey of all first, then each worker every WORKERS-th stretch of the
first PAST bytes, which are whole lines.

A log that is still being fetched has holes, so there is no survey of it; the descriptor FETCHED tells by and by, as
lines of decimal numbers, how many of its first bytes are there, up to the end of a line. No stretch is read before.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable, Iterator

from engine.events.columns import Portion
from engine.events.portions import portion_of
from engine.events.stretches import bytes_between, line_start_at, whole_lines
from engine.events.survey import survey_of

STRETCH_BYTES = 256 * 1024
NICENESS = 10
"""Once the survey stands: answering keys goes first."""
_LOG = 0


def portions(
    descriptor: int,
    worker: int,
    workers: int,
    size: int,
    stretch_bytes: int,
    wait_for: Callable[[int], None] = lambda end: None,
) -> Iterator[Portion]:
    """This worker's portions; one may be empty, where a line is longer than a stretch. Raises OSError.

    `wait_for` returns once the first so many bytes are there.
    """
    for start in range(worker * stretch_bytes, size, workers * stretch_bytes):
        wait_for(min(start + stretch_bytes, size))
        begin = line_start_at(descriptor, start, size)
        end = line_start_at(descriptor, start + stretch_bytes, size)
        yield portion_of(whole_lines(bytes_between(descriptor, begin, end)), begin)


def main(arguments: list[str]) -> None:
    """Write everything, and end quietly when nobody reads it any more."""
    worker, workers, size, past, *fetched = map(int, arguments)
    gc.disable()  # nothing here refers to itself in a circle
    try:
        if worker == 0 and not fetched:
            _write(survey_of(_LOG, size))
        os.nice(NICENESS)
        wait_for = _Fetched(fetched[0] if fetched else None).wait_for
        for portion in portions(_LOG, worker, workers, past, STRETCH_BYTES, wait_for):
            _write(portion)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Fetched:
    """How many bytes of the log are there, as the descriptor tells; all of them where there is none."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._told = b""

    def wait_for(self, end: int) -> None:
        """Wait until the first `end` bytes are there; end the program when nobody will tell."""
        while self._descriptor is not None and self._bytes < end:
            data = os.read(self._descriptor, 4096)
            if not data:
                raise SystemExit
            self._told = (self._told + data)[-64:]

    @property
    def _bytes(self) -> int:
        numbers = self._told.split(b"\n")[:-1]
        return int(numbers[-1]) if numbers else 0


def _write(portion: Portion) -> None:
    pickle.dump(portion, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
