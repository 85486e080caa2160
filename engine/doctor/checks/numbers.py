"""How far tensors are apart."""

from __future__ import annotations

import torch
from torch import Tensor


def relative_error(found: Tensor, wanted: Tensor) -> float:
    """The norm of the difference as a share of the norm of what is wanted."""
    return float((found.double() - wanted.double()).norm() / wanted.double().norm())


def same_bits(found: Tensor, wanted: Tensor) -> bool:
    """Equal type, shape and every bit, the signs of zeros and the payload of NaNs among them."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return False
    return torch.equal(_bytes(found), _bytes(wanted))


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
