"""What an update rule is to the optimizer: it makes a tensor's state, and moves a slice with its part of that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from torch import Tensor

BLOCK = 256
"""Values that share one scale in an 8-bit state. Slices begin at multiples of it."""
BLOCK_SCALES = frozenset({"absmax1", "absmax2"})
"""State tensors with one number a block; all others that `Rule.new_state` makes have their parameter's shape."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The numbers of one update: learning rate, decay rates, epsilon, decoupled weight decay, and its count from 1."""

    learning_rate: float
    betas: tuple[float, float]
    eps: float
    weight_decay: float
    count: int


class Rule(ABC):
    """One optimizer's arithmetic."""

    library: str = "torch"
    """Whose arithmetic it is, for people."""
    eps: float = 1e-8
    counts_updates: bool = False
    """Whether an update depends on how many came before it, which is kept in the state as `step`."""

    @abstractmethod
    def new_state(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the state of a parameter that was never updated, on its device."""

    @abstractmethod
    def move(self, weights: Tensor, gradient: Tensor, state: dict[str, Tensor], settings: Settings) -> None:
        """Update float32 `weights` [n] and their part of the state in place, by the float32 `gradient` [n]."""


def slice_of_state(state: dict[str, Any], names: tuple[str, ...], begin: int, end: int) -> dict[str, Tensor]:
    """Return views of the rule's tensors in `state` for the elements `begin` (a multiple of BLOCK) to `end`."""
    assert begin % BLOCK == 0, begin
    blocks = slice(begin // BLOCK, -(-end // BLOCK))
    return {name: state[name][blocks] if name in BLOCK_SCALES else state[name].view(-1)[begin:end] for name in names}
