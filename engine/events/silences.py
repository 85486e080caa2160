"""Spans between two steps in which no engine was at work, though nobody asked it to pause."""

from __future__ import annotations

SHORTEST = 60.0
"""Seconds. A running engine writes an event each second; after a minute without one something is wrong."""
TIMES_A_STEP = 20.0
"""The longest batch of a run takes no more than some times as long as another."""


def is_silence(gap: float, dt_before: float) -> bool:
    """Whether an engine slept between two steps that stand together in its log, `gap` seconds apart.

    So it is where the machine was suspended or the process was stopped (SIGSTOP): it took far longer than a step, and
    nothing was told that would say what for. `dt_before` is what the step before took; where the log does not tell
    that (0 or NaN) nobody knows.
    """
    return dt_before > 0 and gap > max(SHORTEST, TIMES_A_STEP * dt_before)
