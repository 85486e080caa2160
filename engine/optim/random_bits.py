"""Random bits that are a function of where they are used: no generator, nothing to save, no order to keep.

One 32-bit hash serves two elements of a parameter: element e belongs to the pair i = e // 2. With two 32-bit keys of
(seed, step, parameter), all arithmetic modulo 2^32 and all shifts bringing in zeros:

    x = i + key0
    x = (x ^ (x >> 16)) * 0x7FEB352D + key1
    x = (x ^ (x >> 15)) * 0x846CA68B
    x = x ^ (x >> 16)

Element 2i has the low 16 bits of x, element 2i + 1 the high ones, as signed numbers. (The mixer is `lowbias32` of Chris
Wellons' hash prospector, with a second key in its middle: without it two streams would hold the same numbers in another
order.) Pairs are counted modulo 2^32, so the bits repeat within one tensor after 2^33 elements.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass

import torch
from torch import Tensor

FIRST_MULTIPLIER = 0x7FEB352D
SECOND_MULTIPLIER = 0x846CA68B
assert sys.byteorder == "little", "the halves of a 32-bit number are read as its 16-bit neighbours in memory"


@dataclass(frozen=True, slots=True)
class BitStream:
    """The random bits of one parameter at one step."""

    key0: int
    key1: int

    @classmethod
    def of(cls, seed: int, step: int, parameter: int) -> BitStream:
        """The stream of the parameter with this index; each of the three numbers changes all bits."""
        digest = hashlib.blake2b(f"{seed}/{step}/{parameter}".encode(), digest_size=8).digest()
        return cls(int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little"))

    def signed_keys(self) -> tuple[int, int]:
        """Both keys as signed 32-bit numbers."""
        return as_int32(self.key0), as_int32(self.key1)

    def draw(self, begin: int, count: int, device: torch.device) -> Tensor:
        """Return 16 uniform bits for each of `count` elements from element `begin` (even) on, as int16 [count]."""
        assert begin % 2 == 0, begin
        pairs = (count + 1) // 2
        x = torch.arange(pairs, dtype=torch.int32, device=device)
        x.add_(as_int32(begin // 2 + self.key0))
        _xor_shifted(x, 16).mul_(as_int32(FIRST_MULTIPLIER)).add_(as_int32(self.key1))
        _xor_shifted(x, 15).mul_(as_int32(SECOND_MULTIPLIER))
        return _xor_shifted(x, 16).view(torch.int16)[:count]


def _xor_shifted(x: Tensor, bits: int) -> Tensor:
    """x ^= x >> bits, in place. torch shifts signed numbers arithmetically, hence the mask."""
    return x.bitwise_xor_((x >> bits).bitwise_and_((1 << (32 - bits)) - 1))


def as_int32(number: int) -> int:
    """The signed 32-bit number with the low 32 bits of `number`."""
    low = number & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low
