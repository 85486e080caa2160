"""Softmax and its gradient: which implementation a tensor takes."""

from __future__ import annotations

from functools import cache
from typing import Protocol

import torch
from torch import Tensor

from engine.loss.projection import Projection
from engine.triton_on import triton_on


class Softmax(Protocol):
    """From the products `hidden @ weight.T` of some tokens to their losses and gradients. Never waits for the device.

    `gradient` may be the memory of `products` where their types are equal, and `products` hold nothing of use
    afterwards. A row with NaN or with infinity has the loss NaN; minus infinity is a token of probability 0.
    """

    def losses_and_gradient(
        self, products: Tensor, targets: Tensor, head: Projection, gradient: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return each row's loss and the log of its sum of exponentials, both [n].

        products [n, V] are all of the rows', in accumulation precision; targets [n]. Where it is given, `gradient`
        [n, V] receives that of the summed loss by the products.
        """

    def tile_gradient(
        self,
        products: Tensor,
        targets: Tensor,
        log_sums: Tensor,
        head: Projection,
        begin: int,
        gradient: Tensor,
    ) -> None:
        """Put the same gradient into `gradient` [n, m], for a part of the vocabulary.

        products [n, m] are those of the m tokens of the vocabulary from `begin` on; log_sums [n] are of all.
        """


def softmax_for(tensor: Tensor) -> Softmax:
    """The kernel for float32 on an NVIDIA GPU with Triton, else torch."""
    if tensor.dtype == torch.float32 and _takes_kernel(tensor.device):
        from engine.loss import softmax_kernel

        return softmax_kernel
    from engine.loss import softmax_torch

    return softmax_torch


@cache
def _takes_kernel(device: torch.device) -> bool:
    """Asked for each tile of a head, and a look for a package takes a while."""
    return triton_on(device)
