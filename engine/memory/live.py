"""The accelerator's memory during a step, split by what holds it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from engine.events import StepMemory
from engine.optim.state import state_tensors
from engine.units import GIB


class MemoryMeter:
    """Reads the allocator after each step. Without a GPU only the sizes of weights, gradients and state are known."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        device: torch.device,
        *,
        releases: bool = False,
        in_tiles: Tensor | None = None,
    ) -> None:
        """`releases` says that at most one gradient exists at a time: then the largest one counts.

        That of the weight `in_tiles` is never there as a whole, and does not count.
        """
        parameters = list(model.parameters())
        self._device = device
        self._optimizer = optimizer
        self._weights = sum(p.numel() * p.element_size() for p in parameters) / GIB
        gradients = [p.numel() * p.element_size() for p in parameters if p.requires_grad and p is not in_tiles]
        self._gradients = (max(gradients, default=0) if releases else sum(gradients)) / GIB
        self._state = 0.0

    def read(self) -> StepMemory:
        """The peak since the last call or `forget_peak`, and its parts; what they do not explain are activations."""
        if not self._state:
            self._state = sum(t.numel() * t.element_size() for t in state_tensors(self._optimizer.state)) / GIB
        held = {"weights": self._weights, "gradients": self._gradients, "optimizer": self._state}
        if self._device.type != "cuda":
            return StepMemory(**held)
        allocated, reserved, peak = (
            read(self._device) / GIB
            for read in (
                torch.cuda.memory_allocated,
                torch.cuda.max_memory_reserved,
                torch.cuda.max_memory_allocated,
            )
        )
        self.forget_peak()
        return StepMemory(
            **held,
            allocated=allocated,
            reserved=reserved,
            peak=peak,
            activations=max(0.0, peak - sum(held.values())),
            other=max(0.0, reserved - peak),
        )

    def forget_peak(self) -> None:
        """Training goes on after something else, whose memory is no part of a step's."""
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
