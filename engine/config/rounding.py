"""What the coarse grid of bfloat16 does to small updates: a config can tell before the run whether they survive."""

from __future__ import annotations

import math

from engine.config.errors import Note
from engine.config.schema import Train
from engine.config.wording import short_number

# Standard deviation of the weights of common language models.
TYPICAL_WEIGHT = 0.02
# A bfloat16 number has 8 significant bits.
BFLOAT16_PRECISION = 8


def check_updates(train: Train, weight_dtype: str) -> tuple[Note, ...]:
    """Whether updates survive the rounding of the weights.

    `weight_dtype` is the resolved type of the weights, `bfloat16` or `float32` (so `auto` is decided by the caller).
    """
    if weight_dtype != "bfloat16" or train.stochastic_rounding:
        return ()
    notes: list[Note] = []
    smallest = half_grid_step(TYPICAL_WEIGHT)
    cure = "train.stochastic_rounding: true"
    if train.learning_rate < smallest:
        text = (
            f"UPDATES_MAY_VANISH: the weights are bfloat16, and an update of the size of the learning rate"
            f" ({short_number(train.learning_rate)}) is less than half a grid step ({short_number(smallest)}) of a"
            f" typical weight of {TYPICAL_WEIGHT}, so rounding drops most updates; advice: {cure}"
        )
        notes.append(Note("train.learning_rate", text))
    shrinkage = train.learning_rate * train.weight_decay
    if 0 < shrinkage < 2.0**-BFLOAT16_PRECISION / 2:
        text = (
            f"no effect: the weights are bfloat16, and a factor of 1 - {short_number(shrinkage)} rounds to 1;"
            f" advice: {cure}"
        )
        notes.append(Note("train.weight_decay", text))
    return tuple(notes)


def half_grid_step(weight: float) -> float:
    """Half the distance between neighbouring bfloat16 numbers around a positive weight: smaller updates are lost."""
    return 2.0 ** (math.floor(math.log2(weight)) - BFLOAT16_PRECISION)
