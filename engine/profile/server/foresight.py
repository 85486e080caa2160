"""Estimates that will probably be asked for next, made while nobody asks anything.

A layer has to be traced anew for each way to train it, which takes longer than a screen may wait; other sizes of the
batch follow from that in milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from engine.config import ConfigError, load_config
from engine.errors import UserError
from engine.profile.flags import flags_of

WAYS: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("train.freeze_non_attention", (True, False)),
    ("train.gradient_checkpointing", ("full", "mixers", "selective", "none")),
    ("memory.float8_training", (True, False)),
    ("model.compile", (True, False)),
    ("data.packing", (True, False)),
    ("model.torch_dtype", ("auto", "bfloat16", "float32")),
)
"""Keys on which the trace of a layer depends, with their values, in the order of the screen."""


class Foresight:
    """Each `step` makes one estimate, until there are none to make."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, Mapping[str, object]]] = deque()

    def look_around(self, config: str, overrides: Mapping[str, object]) -> None:
        """The next ones are those of this config with one of the keys changed."""
        self._waiting = deque((config, {**overrides, key: value}) for key, values in WAYS for value in values)

    def step(self) -> bool:
        """Make the next one; False where there is none."""
        if not self._waiting:
            return False
        config, overrides = self._waiting.popleft()
        from engine.memory.estimate import estimate_memory
        from engine.memory.estimate.model_shape import model_shape

        try:
            changed = load_config(config, flags_of(overrides), check_files=False).config
            estimate_memory(changed, model_shape(changed))
        except (ConfigError, UserError):
            pass  # whoever asks for it is told why
        return True
