"""What an update of Lion has to give: bitsandbytes' own arithmetic on the device, then our rounding, nothing fused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from engine.optim.random_bits import BitStream
from engine.optim.rounding import round_stochastically
from engine.optim.rules.blockwise import Blockwise, bitsandbytes_rule
from engine.optim.rules.rule import BLOCK_SCALES, Settings

SAMPLES = 4096
"""Weights of a tensor whose movement is counted, at most."""


@dataclass
class LionByTorch:
    """One tensor's weights and state. `begin` is the place of its first element in a larger tensor."""

    weights: Tensor
    weight_decay: float = 0.0
    at_random: bool = True
    seed: int = 0
    begin: int = 0
    state: dict[str, Tensor] = field(init=False)
    movement: tuple[float, float] = (0.0, 0.0)
    """sum(real * intended) and sum(intended^2) of the last update, over the watched weights."""

    def __post_init__(self) -> None:
        self.weights = self.weights.clone()
        self.rule: Blockwise = bitsandbytes_rule("lion8bit")
        self.state = self.rule.new_state(self.weights)

    @torch.no_grad()
    def update(self, gradient: Tensor, step: int, learning_rate: float, *, keep: bool = True) -> None:
        if not keep:
            self.movement = (0.0, 0.0)
            return
        before, flat = self.weights.view(-1).clone(), self.weights.view(-1)
        moved = flat.to(torch.float32, copy=True)
        self.rule.move(moved, gradient.reshape(-1).float(), self._flat_state(), self._settings(learning_rate))
        asked = moved.clone()
        flat.copy_(self._rounded(moved, step))
        self.movement = _movement(before, asked, flat)

    def directions(self, gradient: Tensor) -> Tensor:
        """The direction of the next update, -1, 0 or 1 for each weight; the state moves on."""
        zeros = torch.zeros(self.weights.numel(), device=self.weights.device)
        self.rule.move(zeros, gradient.reshape(-1).float(), self._flat_state(), self._settings(1.0, decays=False))
        return -zeros.view(self.weights.shape)

    def _rounded(self, moved: Tensor, step: int) -> Tensor:
        if self.weights.dtype != torch.bfloat16 or not self.at_random:
            return moved.to(self.weights.dtype)
        bits = BitStream.of(self.seed, step, 0).draw(self.begin, len(moved), moved.device)
        return round_stochastically(moved, bits)

    def _flat_state(self) -> dict[str, Tensor]:
        return {name: one if name in BLOCK_SCALES else one.view(-1) for name, one in self.state.items()}

    def _settings(self, learning_rate: float, *, decays: bool = True) -> Settings:
        return Settings(learning_rate, (0.9, 0.99), 0.0, self.weight_decay if decays else 0.0, 1)


def _movement(before: Tensor, asked: Tensor, after: Tensor) -> tuple[float, float]:
    stride = -(-len(before) // SAMPLES)
    start = before[::stride].double()
    intended, real = asked[::stride].double() - start, after[::stride].double() - start
    return float(real @ intended), float(intended @ intended)


def state_of(optimizer: Any, parameter: Tensor) -> dict[str, Tensor]:
    """The tensors that the optimizer keeps for the rule."""
    return {name: one for name, one in optimizer.state[parameter].items() if name in ("state1", "absmax1")}
