"""A program that sums up the logs of runs that have no summary, for somebody who must not wait.

`python -m engine.events.summary_worker`, a path of a log a line on stdin as a JSON string. For each it writes a line
to stdout: the summary as JSON, or null where the log cannot be read.
"""

from __future__ import annotations

import json
import os
import sys
from typing import BinaryIO

from engine.events.portions import portion_of
from engine.events.stretches import bytes_between, whole_lines
from engine.events.summary import RunSummary, summary_text

STRETCH_BYTES = 512 * 1024
LONGEST_LINE = 64 * 2**20
"""A line beyond it ends the reading of a log: what follows is no event of ours."""
NICENESS = 10


def sum_up(file: BinaryIO, summary: RunSummary, end: int) -> None:
    """Fold the whole lines from `summary.log_bytes` to the byte `end - 1` into the summary. Raises OSError."""
    length = STRETCH_BYTES
    while summary.log_bytes < end:
        begin = summary.log_bytes
        lines = whole_lines(bytes_between(file.fileno(), begin, min(begin + length, end)))
        if not lines:
            if begin + length >= end or length >= LONGEST_LINE:
                return
            length *= 2
            continue
        for block in portion_of(lines, begin).blocks:
            summary.fold(block)
        summary.log_bytes, length = begin + len(lines), STRETCH_BYTES


def summed_up(path: str) -> RunSummary | None:
    """The summary of a log; None where it cannot be read."""
    summary = RunSummary()
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib takes time to import
            sum_up(file, summary, os.fstat(file.fileno()).st_size)
    except OSError:
        return None
    return summary


def main() -> None:
    """Answer until nobody asks, or reads, any more."""
    os.nice(NICENESS)
    try:
        for line in sys.stdin:
            summary = summed_up(json.loads(line))
            sys.stdout.write("null\n" if summary is None else summary_text(summary))
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
