"""What a change of a config does to the result of training, from nothing to shorter lines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from engine.config import Config


class Effect(IntEnum):
    """The worse the higher."""

    SAME = 0
    """The same mathematics, sums in another order at the most."""
    ROUNDED = 1
    """The same step, rounded otherwise or not clipped."""
    FLOAT8 = 2
    """The same step with products in float8."""
    SMALLER_STEP = 3
    """Fewer lines for each step."""
    LESS_TRAINED = 4
    """Fewer weights, or another optimizer."""
    SHORTER = 5
    """Fewer tokens of each line."""


@dataclass(frozen=True, slots=True)
class Effects:
    """All that a change does, as (how bad, in words)."""

    found: tuple[tuple[Effect, str], ...]

    @property
    def worst(self) -> Effect:
        return max((effect for effect, _ in self.found), default=Effect.SAME)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(words for _, words in self.found)


def effects(config: Config, other: Config) -> Effects:
    """What training with `other` in place of `config` does to the result."""
    old, new = config.train, other.train
    found: list[tuple[Effect, str]] = []
    if other.data.max_seq_length < config.data.max_seq_length:
        found.append((Effect.SHORTER, f"what is longer than {other.data.max_seq_length:,} tokens is cut off"))
    if new.freeze_non_attention and not old.freeze_non_attention:
        found.append((Effect.LESS_TRAINED, "trains the attention and linear-attention layers alone"))
    if _family(new.optimizer) != _family(old.optimizer):
        found.append((Effect.LESS_TRAINED, f"another optimizer, with its rate divided by {_ratio(config, other):g}"))
    before, after = _lines(config), _lines(other)
    if after < before:
        found.append((Effect.SMALLER_STEP, f"a step sees {after} line{'s' * (after > 1)} in place of {before}"))
    if new.optimizer.endswith("8bit") and not old.optimizer.endswith("8bit"):
        found.append((Effect.ROUNDED, "optimizer state in 8 bits"))
    if old.max_grad_norm is not None and new.max_grad_norm is None:
        found.append((Effect.ROUNDED, "gradients are no longer clipped"))
    if other.memory.float8_training and not config.memory.float8_training:
        found.append((Effect.FLOAT8, "products in float8"))
    if config.memory.float8_training and not other.memory.float8_training:
        found.append((Effect.SAME, "products in bfloat16"))
    if config.model.torch_dtype == "float32" and other.model.torch_dtype != "float32":
        found.append((Effect.ROUNDED, "weights in bfloat16"))
    if other.memory.offload_activations and not config.memory.offload_activations:
        found.append((Effect.SAME, "the layers' inputs wait in main memory"))
    if other.model.compile and not config.model.compile:
        found.append((Effect.SAME, "a start compiles first, for up to minutes"))
    return Effects(tuple(found))


def _family(optimizer: str) -> str:
    return optimizer.removesuffix("8bit")


def _lines(config: Config) -> int:
    return config.train.per_device_batch_size * config.train.gradient_accumulation_steps


def _ratio(config: Config, other: Config) -> float:
    return round(config.train.learning_rate / other.train.learning_rate, 2)
