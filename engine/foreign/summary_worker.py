"""A program that sums up training of other tools for a list of runs, for somebody who must not wait.

`python -m engine.foreign.summary_worker`, a line on stdin for each as JSON: the kind of its files and their path. It
writes a line to stdout: the summary as JSON, or null where nothing can be read.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import cast

from engine.events.foreign.recognised import Found, Kind
from engine.events.foreign.told import NotReadableError
from engine.events.summary import RunSummary, summary_text
from engine.foreign.judged import ForeignEvents

NICENESS = 10


def summed_up(kind: Kind, path: Path) -> RunSummary | None:
    """The summary of all that the files tell; None where they cannot be read."""
    summary = RunSummary()
    events = ForeignEvents(Found(kind, path))
    try:
        while (batch := events.poll()) or batch.more:
            for stamped in batch.events:
                summary.fold(stamped)
    except (OSError, NotReadableError):
        return None
    return summary


def main() -> None:
    """Answer until nobody asks, or reads, any more."""
    os.nice(NICENESS)
    try:
        for line in sys.stdin:
            kind, path = json.loads(line)
            summary = summed_up(cast("Kind", kind), Path(path))
            sys.stdout.write("null\n" if summary is None else summary_text(summary))
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
