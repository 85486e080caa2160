"""The learning rate of each step: a linear warm-up, then the chosen course down to the minimum. Pure Python.

Steps count from 1. The warm-up's last step has exactly `learning_rate`, the run's last step exactly `min_learning_rate`
(`constant` stays at the peak). Without a warm-up the first step is the peak. `min_learning_rate` is where the course
ends, so the warm-up may pass below it. Skipped steps count: the schedule is a function of the step number alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.config.schema import DEFAULT_WARMUP_RATIO, Train

FLOAT_NOISE_DIGITS = 9
"""Digits kept before a product such as 0.1 * 30 is rounded up to whole steps."""


def learning_rate(train: Train, step: int, total_steps: int) -> float:
    """Return the learning rate of `step`, 1 <= step <= total_steps."""
    assert 1 <= step <= total_steps, (step, total_steps)
    warmup = warmup_steps(train, total_steps)
    if step <= warmup:
        return train.learning_rate * (step / warmup)
    peak_step = max(warmup, 1)
    if step == peak_step or train.lr_scheduler == "constant":
        return train.learning_rate
    if step == total_steps:
        return train.min_learning_rate
    height = _COURSES[train.lr_scheduler](train, step - peak_step, total_steps - peak_step, total_steps)
    return train.min_learning_rate + (train.learning_rate - train.min_learning_rate) * height


def warmup_steps(train: Train, total_steps: int) -> int:
    """Return the number of warm-up steps; a ratio is rounded up, a count stays as given even if the run is shorter."""
    if train.warmup_steps is not None:
        return train.warmup_steps
    ratio = DEFAULT_WARMUP_RATIO if train.warmup_ratio is None else train.warmup_ratio
    return math.ceil(round(ratio * total_steps, FLOAT_NOISE_DIGITS))


def _linear(train: Train, done: int, decay_steps: int, total_steps: int) -> float:
    return 1.0 - done / decay_steps


def _cosine(train: Train, done: int, decay_steps: int, total_steps: int) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * done / decay_steps))


def _power_decay(train: Train, done: int, decay_steps: int, total_steps: int) -> float:
    """(1 - t)^gamma with t measured after the warm-up (arXiv 2602.06797)."""
    return math.pow(1.0 - done / decay_steps, train.power_decay_gamma)


def _warmup_stable_decay(train: Train, done: int, decay_steps: int, total_steps: int) -> float:
    """The peak, then a straight line down over the last `wsd_decay_ratio` of all steps (arXiv 2405.18392)."""
    cooldown = min(math.ceil(round(train.wsd_decay_ratio * total_steps, FLOAT_NOISE_DIGITS)), decay_steps)
    return min(1.0, (decay_steps - done) / cooldown)


_COURSES: dict[str, Callable[[Train, int, int, int], float]] = {
    "linear": _linear,
    "cosine": _cosine,
    "power_decay": _power_decay,
    "wsd": _warmup_stable_decay,
}
"""Height above the minimum, 1 to 0, `done` of `decay_steps` after the peak."""
