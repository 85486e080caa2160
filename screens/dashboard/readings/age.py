"""How old news is, in words that seldom change: a screen that says nothing new is not painted."""

from __future__ import annotations

from pgs_tui.format import duration

STEPS = ((10.0, 1.0), (120.0, 10.0))
"""Below how many seconds an age is told to how many; a longer one to the minute."""
A_MINUTE = 60.0


def age_of(seconds: float) -> str:
    """`< 1 s`, `7 s`, `40 s`, `1 m 30 s`, `12 m`, `1 h 05 m`."""
    age = max(seconds, 0.0)
    return "< 1 s" if age < 1 else duration(age // _step(age) * _step(age)).removesuffix(" 00 s")


def next_change(seconds: float) -> float:
    """In how many seconds `age_of` will say something else."""
    age = max(seconds, 0.0)
    return _step(age) - age % _step(age)


def _step(age: float) -> float:
    return next((step for most, step in STEPS if age < most), A_MINUTE)
