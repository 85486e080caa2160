"""AdamW (arXiv 1711.05101) as torch computes it, with float32 moments whatever the type of the weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from engine.optim.rules.rule import Rule, Settings

FUSED_DEVICES = ("cpu", "cuda")
"""Where torch has one kernel for the whole update."""


class AdamW(Rule):
    """torch's own function, on one slice at a time."""

    counts_updates = True

    def new_state(self, parameter: Tensor) -> dict[str, Tensor]:
        return {name: torch.zeros_like(parameter, dtype=torch.float32) for name in ("exp_avg", "exp_avg_sq")}

    def move(self, weights: Tensor, gradient: Tensor, state: dict[str, Tensor], settings: Settings) -> None:
        fused = weights.device.type in FUSED_DEVICES
        done = torch.full((), settings.count - 1, dtype=torch.float32, device=weights.device if fused else "cpu")
        adamw(
            [weights],
            [gradient],
            [state["exp_avg"]],
            [state["exp_avg_sq"]],
            [],
            [done],
            foreach=False,
            fused=fused,
            amsgrad=False,
            beta1=settings.betas[0],
            beta2=settings.betas[1],
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            eps=settings.eps,
            maximize=False,
        )
