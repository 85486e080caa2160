"""What runs take of the GPU's memory, when several are made in one process."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch

from engine.events import Step
from engine.units import GIB
from tests.train.conftest import Outcome

from .machine import HAS_GPU


def train_and_peak(train: Callable[..., Outcome], *settings: Any) -> tuple[Outcome, float]:
    """The run, and the most bytes that its steps after the first held of the GPU; what was there before is not its."""
    gc.unfreeze()  # models of earlier runs are garbage only now
    gc.collect()
    before = torch.cuda.memory_allocated() if HAS_GPU else 0
    done = train(*settings)
    return done, max(step.mem.peak or 0.0 for step in done.of(Step)[1:]) * GIB - before
