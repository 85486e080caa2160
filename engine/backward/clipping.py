"""The global gradient norm and clipping. Measuring never changes a gradient; scaling is a step of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.backward.norm import norm_of


@dataclass(frozen=True, slots=True)
class GradientNorm:
    """The 2-norm over all gradients before clipping, and the first parameter whose gradient is not finite."""

    norm: float
    non_finite: str | None = None

    @property
    def is_finite(self) -> bool:
        return self.non_finite is None


def measure_gradient_norm(named_parameters: Iterable[tuple[str, Tensor]]) -> GradientNorm:
    """Return the norm of all gradients, to float32 accuracy whatever their types and sizes.

    Parameters without a gradient count as zero. NaN anywhere makes the norm NaN, otherwise infinity makes it infinite.
    Waits for the device once if all is finite.
    """
    named = [(name, parameter.grad) for name, parameter in named_parameters if parameter.grad is not None]
    gradients = [gradient for _, gradient in named if gradient is not None]
    if not gradients:
        return GradientNorm(0.0)
    norms: list[float] = torch.stack(_norms_on_device(gradients)).tolist()
    non_finite = None
    for index, norm in enumerate(norms):
        if not math.isfinite(norm):
            # Squares of finite numbers above 1e19 overflow float32 too; float64 tells these from real infinities.
            norms[index] = float(torch.linalg.vector_norm(gradients[index], dtype=torch.float64))
            if not math.isfinite(norms[index]):
                non_finite = named[index][0]
                break
    return GradientNorm(_root_of_squares(norms), non_finite)


def clip_scale(gradient_norm: GradientNorm, max_norm: float | None) -> float:
    """Return the factor that brings the norm down to max_norm: 1 without a limit, below it, or if it is not finite."""
    if max_norm is None or not gradient_norm.is_finite or gradient_norm.norm <= max_norm:
        return 1.0
    return max_norm / gradient_norm.norm


@torch.no_grad()
def scale_gradients(parameters: Iterable[Tensor], scale: float) -> None:
    """Multiply all gradients by `scale` in place."""
    if scale == 1.0:
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if gradients:
        torch._foreach_mul_(gradients, scale)


def _norms_on_device(gradients: list[Tensor]) -> list[Tensor]:
    """Return each tensor's norm, all on the first one's device."""
    if all(gradient.is_cuda for gradient in gradients):
        norms = torch._foreach_norm(gradients, 2, dtype=torch.float32)
        return [norm.to(gradients[0].device) for norm in norms]
    return [norm_of(gradient).to(gradients[0].device) for gradient in gradients]


def _root_of_squares(norms: list[float]) -> float:
    if any(math.isnan(norm) for norm in norms):  # math.hypot would let an infinity win over it
        return math.nan
    return math.hypot(*norms)
