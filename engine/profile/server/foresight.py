"""Estimates that will probably be asked for next, made while nobody asks anything.

A layer has to be traced anew for each way to train it, which takes longer than a screen may wait; other sizes of the
batch follow from that in milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

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
    """Each `step` is a small part of an estimate, until there are none to make: nobody waits long for its end."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, Mapping[str, object]]] = deque()
        self._going: Iterator[None] = iter(())

    def look_around(self, config: str, overrides: Mapping[str, object]) -> None:
        """The next ones are those of this config with one of the keys changed."""
        self._waiting = deque((config, {**overrides, key: value}) for key, values in WAYS for value in values)
        self._going = iter(())

    def step(self) -> bool:
        """Go on with what goes on, or else begin the next one; False where there is none."""
        try:
            next(self._going)
        except StopIteration:
            if not self._waiting:
                return False
            self._going = _estimated(*self._waiting.popleft())
        except (ConfigError, UserError):
            pass  # whoever asks for it is told why
        return True


def _estimated(path: str, overrides: Mapping[str, object]) -> Iterator[None]:
    """Make an estimate, with pauses. Raises ConfigError and UserError."""
    from engine.memory.estimate import estimate_memory
    from engine.memory.estimate.layers import traced_beforehand
    from engine.memory.estimate.model_shape import model_shape

    config = load_config(path, flags_of(overrides), check_files=False).config
    yield
    shape = model_shape(config)
    model = shape.model_for(config)
    yield
    yield from traced_beforehand(model, config)
    estimate_memory(config, shape)
