"""What comparing long runs costs: the real program in a terminal of 160x50.

    PYTHONPATH=. python tests/bench/compare.py [--runs FOLDER] [--count 6] [--steps 200000]

Prints the seconds from the start until curves stand and until all logs have been read, and the memory then and at its
highest, in MB, of the program with its children, shared pages with each. The runs are made up and kept in FOLDER; six
of 200,000 steps take 1 GB.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from engine.rundir import RunDir
from tests.bench.watching.attached import Attached
from tests.bench.watching.runs import write_run

SIZE = (160, 50)
LONGEST = 120.0
LOOK_EVERY = 0.1
OVER = "all are over"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, metavar="FOLDER")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--steps", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.runs or Path(folder)
        runs = [write_run(place / f"run{number}", options.steps) for number in range(options.count)]
        measure(runs, Path(folder))
    print(f"load average {os.getloadavg()[0]:.2f}; {os.cpu_count()} cores")
    return 0


def measure(runs: Sequence[RunDir], state: Path) -> None:
    words = ("compare", *(str(run.path) for run in runs))
    with Attached(runs[0], SIZE, state, words) as program:
        highest = 0.0
        while program.seconds < LONGEST and program.read(LOOK_EVERY, lambda heard: OVER.encode() in heard) is None:
            highest = max(highest, program.memory())
        print(f"first curves after {told(program.moment(has_curves))}")
        print(f"all read after {told(program.moment(lambda rows: any(OVER in row for row in rows)))}")
        print(f"memory {program.memory():.0f} MB, highest while reading {highest:.0f} MB")


def has_curves(rows: list[str]) -> bool:
    """Dots of a curve in several rows."""
    return sum(any("\u2801" <= sign <= "\u28ff" for sign in row) for row in rows) > 2


def told(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.2f} s"


if __name__ == "__main__":
    raise SystemExit(main())
