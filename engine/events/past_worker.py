"""A program that reads the past of a log for somebody who must not wait: one of several that share the work.

`python -m engine.events.past_worker WORKER WORKERS SIZE PAST` with the log, of SIZE bytes, as its stdin. It writes
pickled portions to stdout: worker 0 a survey of all first, then each worker every WORKERS-th stretch of the first PAST
bytes, which are whole lines.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Iterator

from engine.events.columns import Portion
from engine.events.portions import portion_of
from engine.events.stretches import bytes_between, line_start_at, whole_lines
from engine.events.survey import survey_of

STRETCH_BYTES = 256 * 1024
NICENESS = 10
"""Once the survey stands: answering keys goes first."""
_LOG = 0


def portions(descriptor: int, worker: int, workers: int, size: int, stretch_bytes: int) -> Iterator[Portion]:
    """This worker's portions; one may be empty, where a line is longer than a stretch. Raises OSError."""
    for start in range(worker * stretch_bytes, size, workers * stretch_bytes):
        begin = line_start_at(descriptor, start, size)
        end = line_start_at(descriptor, start + stretch_bytes, size)
        yield portion_of(whole_lines(bytes_between(descriptor, begin, end)), begin)


def main(arguments: list[str]) -> None:
    """Write everything, and end quietly when nobody reads it any more."""
    worker, workers, size, past = map(int, arguments)
    gc.disable()  # nothing here refers to itself in a circle
    try:
        if worker == 0:
            _write(survey_of(_LOG, size))
        os.nice(NICENESS)
        for portion in portions(_LOG, worker, workers, past, STRETCH_BYTES):
            _write(portion)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(portion: Portion) -> None:
    pickle.dump(portion, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
