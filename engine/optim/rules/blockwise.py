"""Lion and Adam as bitsandbytes computes them (arXiv 2302.06675, 1412.6980), with float32 or 8-bit state.

An 8-bit state holds one byte a value, an index into a map of 256 numbers, and one float32 scale for each block of 256
values (arXiv 2110.02861). As in bitsandbytes, tensors under 4,096 values keep float32 state.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Literal

import torch
from torch import Tensor

from engine.optim.rules.rule import BLOCK, Rule, Settings

SMALLEST_IN_8BIT = 4096
"""Values from which on a tensor's state is kept in 8 bits."""


class Blockwise(Rule):
    """One rule of bitsandbytes: `lion` with one moment, `adam` (decay decoupled, hence AdamW) with two."""

    library = "torch and bitsandbytes"

    def __init__(self, kind: Literal["lion", "adam"], *, in_8bit: bool, functional: ModuleType) -> None:
        self.kind = kind
        self.in_8bit = in_8bit
        self.eps = 0.0 if kind == "lion" else 1e-8
        self.counts_updates = kind == "adam"
        self._functional = functional
        self._maps: dict[torch.device, tuple[Tensor, Tensor]] = {}

    def new_state(self, parameter: Tensor) -> dict[str, Tensor]:
        state = empty_state(parameter, moments=2 if self.kind == "adam" else 1, in_8bit=self.in_8bit)
        if "absmax1" in state:
            self._maps_on(parameter.device)
        return state

    def move(self, weights: Tensor, gradient: Tensor, state: dict[str, Tensor], settings: Settings) -> None:
        if "absmax1" in state:
            self._move_8bit(weights, gradient, state, settings)
        else:
            self._move_32bit(weights, gradient, state, settings)

    def _move_32bit(self, weights: Tensor, gradient: Tensor, state: dict[str, Tensor], settings: Settings) -> None:
        self._functional.optimizer_update_32bit(
            self.kind,
            gradient,
            weights,
            state["state1"],
            settings.betas[0],
            settings.eps,
            settings.count,
            settings.learning_rate,
            state.get("state2"),
            settings.betas[1],
            weight_decay=settings.weight_decay,
        )

    def _move_8bit(self, weights: Tensor, gradient: Tensor, state: dict[str, Tensor], settings: Settings) -> None:
        signed, unsigned = self._maps_on(weights.device)
        self._functional.optimizer_update_8bit_blockwise(
            self.kind,
            gradient,
            weights,
            state["state1"],
            state.get("state2"),
            *settings.betas,
            0.0,
            0.0,
            settings.eps,
            settings.count,
            settings.learning_rate,
            signed,
            unsigned if "state2" in state else None,
            state["absmax1"],
            state.get("absmax2"),
            weight_decay=settings.weight_decay,
        )

    def signed_map(self, device: torch.device) -> Tensor:
        """The numbers that a byte of the first moment stands for: float32 [256]."""
        return self._maps_on(device)[0]

    def _maps_on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The 256 numbers that a byte stands for: for the first moment (signed) and for the second."""
        if device not in self._maps:
            signed, unsigned = (self._functional.create_dynamic_map(signed=signed) for signed in (True, False))
            self._maps[device] = (signed.to(device), unsigned.to(device))
        return self._maps[device]


def empty_state(parameter: Tensor, *, moments: int, in_8bit: bool) -> dict[str, Tensor]:
    """The state of a parameter that was never updated, on its device: one or two moments, with scales if in 8 bits."""
    is_8bit = in_8bit and parameter.numel() >= SMALLEST_IN_8BIT
    state: dict[str, Tensor] = {}
    for number in range(1, moments + 1):
        state[f"state{number}"] = torch.zeros_like(parameter, dtype=torch.uint8 if is_8bit else torch.float32)
        if is_8bit:
            blocks = -(-parameter.numel() // BLOCK)
            state[f"absmax{number}"] = torch.zeros(blocks, dtype=torch.float32, device=parameter.device)
    return state


def bitsandbytes_rule(optimizer: str) -> Blockwise:
    """Return the rule of lion, lion8bit or adamw8bit. Raises ValueError if bitsandbytes cannot be imported."""
    functional: Any = _import_bitsandbytes(optimizer).functional
    kind: Literal["lion", "adam"] = "lion" if optimizer.startswith("lion") else "adam"
    return Blockwise(kind, in_8bit=optimizer.endswith("8bit"), functional=functional)


def _import_bitsandbytes(optimizer: str) -> ModuleType:
    try:
        with _quiet_missing_kernels():
            import bitsandbytes
    except (ImportError, OSError, RuntimeError) as error:
        raise ValueError(
            f"train.optimizer: {optimizer} needs the package bitsandbytes, which cannot be imported ({error}); "
            "install it (pip install bitsandbytes) or set train.optimizer: adamw"
        ) from error
    module: ModuleType = bitsandbytes
    return module


@contextmanager
def _quiet_missing_kernels() -> Iterator[None]:
    """Keep bitsandbytes from warning, on import, about 4-bit matrix kernels that no optimizer uses."""
    logger = logging.getLogger("bitsandbytes.backends.cpu.ops")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
