"""The kernels' arithmetic once more, in torch, on one tensor: as bitsandbytes' CUDA kernels, then our rounding.

Where a GPU rounds a * b + c once, Triton's interpreter rounds twice, and so does this.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.optim.random_bits import BitStream
from engine.optim.rounding import round_stochastically

BLOCK = 256


@dataclass
class Oracle:
    """Lion with 8-bit state (or float32 state, without `code`) of one tensor, flat."""

    weights: Tensor
    state: Tensor
    scales: Tensor | None = None
    code: Tensor | None = None
    betas: tuple[float, float] = (0.9, 0.99)
    asked: Tensor | None = None
    """Float32 weights before they were rounded."""

    def update(self, gradient: Tensor, rate: float, decay: float, stream: BitStream | None) -> None:
        blend = self.blend(gradient.float())
        kept = float(torch.tensor(1.0) - torch.tensor(rate) * torch.tensor(decay))
        self.asked = self.weights.float() * kept - torch.sign(blend) * torch.tensor(rate)
        self.store(stream)

    def blend(self, gradient: Tensor) -> Tensor:
        """The number whose sign is the direction; the state moves on."""
        first, second = (torch.tensor(beta) for beta in self.betas)
        moment = self.moment()
        if self.code is None:
            self.state = moment * second + gradient * (1 - second)
            return moment * first + gradient * (1 - first)
        self.store_moment(gradient * (1 - second) + moment * second)
        return gradient * (1 - first) + moment * first

    def moment(self) -> Tensor:
        if self.code is None or self.scales is None:
            return self.state
        return self.code[self.state.long()] * self.scales.repeat_interleave(BLOCK)[: len(self.state)]

    def store_moment(self, moment: Tensor) -> None:
        assert self.code is not None and self.scales is not None
        filler = -len(moment) % BLOCK
        padded = torch.nn.functional.pad(moment, (0, filler)).view(-1, BLOCK)
        last = self.code[128] * self.scales[-1] * torch.tensor(self.betas[1])  # beyond the end stands byte 128
        self.scales = padded.abs().amax(1)
        if filler:
            self.scales[-1] = torch.maximum(self.scales[-1], last)
        reciprocal = (1 / self.scales).repeat_interleave(BLOCK)[: len(moment)]
        self.state = to_bytes(moment, moment * reciprocal, self.code)

    def store(self, stream: BitStream | None) -> None:
        assert self.asked is not None
        if stream is None:
            self.weights = self.asked.to(self.weights.dtype)
        else:
            bits = stream.draw(0, len(self.asked), self.asked.device)
            self.weights = round_stochastically(self.asked.clone(), bits)


def to_bytes(moment: Tensor, share: Tensor, code: Tensor) -> Tensor:
    """bitsandbytes' search for `share` in `code`, step by step, and what it does about signs."""
    pivot = torch.full_like(share, 127, dtype=torch.long)
    lower, upper = torch.zeros_like(pivot), torch.full_like(pivot, 255)
    for step in (64, 32, 16, 8, 4, 2, 1):
        above = share > code[pivot]
        lower, upper = torch.where(above, pivot, lower), torch.where(above, upper, pivot)
        pivot = torch.where(above, pivot + step, pivot - step)
    value = code[pivot]
    low, high = torch.where(lower == 0, -1.0, code[lower]), torch.where(upper == 255, 1.0, code[upper])
    from_below = torch.where(share < (low + value) * 0.5, lower, pivot)
    from_above = torch.where(share > (high + value) * 0.5, upper, pivot)
    entry = torch.where(share > value, from_above, from_below)
    wrong = torch.signbit(code[entry]) != torch.signbit(moment)
    return torch.where(wrong, torch.where(moment > 0, entry + 1, entry - 1), entry).to(torch.uint8)
