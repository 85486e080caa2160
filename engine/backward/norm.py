"""Norms of gradients that stay on the device until somebody has to wait for it anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.triton_on import triton_on

if TYPE_CHECKING:
    from engine.backward.norm_kernels import NormKernels

CPU_ROW = 4096
"""Values that the CPU adds up in sequence: over 28 million of them float32 would be off by 0.2 %."""


def norm_of(tensor: Tensor) -> Tensor:
    """The 2-norm of all values, a float64 scalar on the tensor's device, to float32 accuracy; waits for nothing.

    NaN and infinities show in it. Norms above 1.8e19, whose squares float32 does not hold, count as infinite. That is
    as well: from about there on the second moments of Adam become infinite too, and their weights never move again.
    """
    if tensor.is_cuda:
        on_device: Tensor = torch.linalg.vector_norm(tensor, dtype=torch.float32)
        return on_device.double()
    flat = tensor.reshape(-1)
    whole = flat.numel() - flat.numel() % CPU_ROW
    rows = torch.linalg.vector_norm(flat[:whole].view(-1, CPU_ROW), dim=1, dtype=torch.float32)
    rest = torch.linalg.vector_norm(flat[whole:], dtype=torch.float32)
    return torch.hypot(torch.linalg.vector_norm(rows.double()), rest.double())


class GradientNorms:
    """The norm of each trained tensor's gradient in one step, in the order of the parameters."""

    def __init__(self, named_parameters: Sequence[tuple[str, Tensor]]) -> None:
        assert named_parameters, "nothing is trained"
        self.names = tuple(name for name, _ in named_parameters)
        self._index = {id(parameter): index for index, (_, parameter) in enumerate(named_parameters)}
        device = named_parameters[0][1].device
        self._norms = torch.zeros(len(self.names), dtype=torch.float64, device=device)
        last = torch.zeros_like(self._norms)
        is_finite = torch.zeros(len(self.names), dtype=torch.bool, device=device)
        self._last, self._is_finite = last.unbind(), is_finite.unbind()  # views: making one takes longer than a launch
        self._measured: set[int] = set()
        self._kernels = _kernels(self._norms, last, is_finite) if triton_on(device) else None

    def forget(self) -> None:
        """A new step begins: no tensor has a gradient."""
        self._norms.zero_()
        self._measured.clear()

    def measure(self, parameter: Tensor, gradient: Tensor) -> Tensor:
        """Note the norm of this parameter's gradient, and return it, a float64 scalar on the device."""
        index = self._index[id(parameter)]
        assert index not in self._measured, f"{self.names[index]} has got its gradient twice in one step"
        return self._measure(index, gradient, adds=False)

    def measure_part(self, parameter: Tensor, gradient: Tensor) -> Tensor:
        """Note that this is a part of the parameter's gradient; return the norm of the part alone, as above."""
        return self._measure(self._index[id(parameter)], gradient, adds=True)

    def is_finite(self, parameter: Tensor) -> Tensor:
        """Whether the gradient, or part of it, that was measured last for this parameter is finite: a bool scalar on
        the device, good until the next one is measured."""
        return self._is_finite[self._index[id(parameter)]]

    def total(self) -> Tensor:
        """The norm over all gradients, a float64 scalar on the device."""
        total: Tensor = torch.linalg.vector_norm(self._norms)
        return total

    def not_measured(self) -> tuple[str, ...]:
        """The names of the parameters that got no gradient."""
        return tuple(name for index, name in enumerate(self.names) if index not in self._measured)

    def by_name(self) -> dict[str, float]:
        """The norms of the gradients that there were. Waits for the device."""
        norms = self._norms.tolist()
        return {self.names[index]: norms[index] for index in sorted(self._measured)}

    def first_not_finite(self) -> str | None:
        """The first parameter whose gradient is not finite. Waits for the device."""
        return next((name for name, norm in self.by_name().items() if not math.isfinite(norm)), None)

    def _measure(self, index: int, gradient: Tensor, *, adds: bool) -> Tensor:
        self._measured.add(index)
        if self._kernels is not None:
            self._kernels.measure(gradient, index, adds=adds)
        else:
            norm = norm_of(gradient)
            self._last[index].copy_(norm)
            self._is_finite[index].copy_(torch.isfinite(norm))
            self._norms[index] = torch.hypot(self._norms[index], norm) if adds else norm
        return self._last[index]


def _kernels(norms: Tensor, last: Tensor, is_finite: Tensor) -> NormKernels:
    from engine.backward.norm_kernels import NormKernels

    return NormKernels(norms, last, is_finite)
