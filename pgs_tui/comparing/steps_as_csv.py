"""The steps of all compared runs as one CSV: a row a step, its run in the first column.

Numbers are those that charts are drawn of: the loss with all its digits, the others with seven. `pgs-tui export --csv`
writes one run as exactly as its log has it.
"""

from __future__ import annotations

import csv
from typing import TextIO

from pgs_tui.comparing.comparison import Comparison
from pgs_tui.history.history import History
from pgs_tui.history.step_table import METRICS

HEADER = ("run", "step", "seconds_so_far", "tokens_so_far", "loss", *(name for name in METRICS if name != "loss"))


def write_steps(comparison: Comparison, file: TextIO) -> None:
    """Every step that counts; what was not measured is empty. Raises OSError."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for run in comparison.runs:
        history = run.history
        writer.writerows((run.live.run_id, *_row(history, place)) for place in range(len(history.steps)))


def _row(history: History, place: int) -> tuple[int | float | None, ...]:
    seconds, tokens = history.positions("time")[place], history.positions("tokens")[place]
    loss = history.series["loss"].at(place)
    others = (_seven_digits(history.series[name].at(place)) for name in METRICS if name != "loss")
    return history.steps[place], _seven_digits(seconds), int(tokens), loss, *others


def _seven_digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.7g}")
