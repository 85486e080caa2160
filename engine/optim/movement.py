"""How far weights really moved beside how far the update asked: sampled, so that it costs next to nothing."""

from __future__ import annotations

import torch
from torch import Tensor

SAMPLES_IN_A_TENSOR = 4096
"""At most so many weights of a tensor are watched, evenly spaced and always the same ones."""


class Movement:
    """The sums sum(real * intended) and sum(intended^2) over the watched weights, in float64 on their device."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._sums: Tensor | None = (
            None  # made when there is something to add up: the beginning of a step costs nothing
        )

    def forget(self) -> None:
        """A new step begins. Sums that were asked for stay as they are."""
        self._sums = None

    def add(self, before: Tensor, asked: Tensor, after: Tensor, keep: Tensor | None) -> None:
        """Count watched weights [n] before the update, as the update wanted them, and as they are now stored."""
        start = before.double()
        real, intended = after.double() - start, asked.double() - start
        if keep is not None:
            intended = torch.where(keep, intended, 0.0)
        sums = torch.stack((torch.dot(real, intended), torch.dot(intended, intended)))
        self._sums = self.sums().add_(sums.to(self._device, non_blocking=True))

    def sums(self) -> Tensor:
        """Return both sums since the step began: float64 [2]."""
        return torch.zeros(2, dtype=torch.float64, device=self._device) if self._sums is None else self._sums


def watched(values: Tensor, begin: int, size: int) -> Tensor:
    """Return a view of the watched ones among `values` [n], the elements from `begin` on of a tensor of `size`."""
    stride = stride_of(size)
    return values[-begin % stride :: stride]


def stride_of(size: int) -> int:
    """Every how manieth weight of a tensor of `size` is watched."""
    return -(-size // SAMPLES_IN_A_TENSOR)
