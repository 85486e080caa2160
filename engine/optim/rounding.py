"""From float32 to bfloat16, to the nearest number or at random."""

from __future__ import annotations

import torch
from torch import Tensor

HIGH_HALF = -65536
"""The mask 0xFFFF0000: sign, exponent and the seven bits of mantissa that bfloat16 keeps."""
HALF_RANGE = 0x8000
"""Turns a signed 16-bit number into one from 0 to 65535."""


def round_stochastically(numbers: Tensor, bits: Tensor) -> Tensor:
    """Return float32 `numbers` as bfloat16, each up or down with the probability that keeps its mean.

    Adds `bits` (uniform int16, shifted to 0 and above) below the last bit that bfloat16 keeps, then cuts there: a
    number at a share p of the way to the next one arrives there with probability p, to 2^-16. Numbers that bfloat16
    has, infinities and NaN stay. Works in the memory of `numbers`, which hold nothing of use afterwards.
    """
    is_number = numbers == numbers
    patterns = numbers.view(torch.int32)
    patterns.add_(bits.to(torch.int32)).add_(HALF_RANGE).bitwise_and_(HIGH_HALF)
    return torch.where(is_number, numbers.to(torch.bfloat16), torch.nan)
