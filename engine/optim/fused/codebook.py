"""The 256 numbers behind a byte of 8-bit state, and the borders between them that bitsandbytes rounds by.

The dynamic map (arXiv 2110.02861) is symmetric around entry 127, which is 0. By magnitude, decade i (0 to 6) ends at
10^(i-6) and has 2^i evenly spaced entries; 1.0 follows as entry 255, without a negative twin. So the rank of a
magnitude (1 for the smallest entry) grows within decade i along the line

    rank(a) = a * 10^6 / 0.9 / 5^i + 8/9 * 2^i

and, as each line is flatter than the one before, over all decades it is the least of the seven. That is close enough to
name the one border which decides; comparing with it makes the rank exact.
"""

from __future__ import annotations

import torch
from torch import Tensor

ZERO = 127
"""The entry that is 0; those below are negative."""
RANKS = 256
"""Room for the borders of one sign: rank r has its lower border at place r, 1 to 128."""
DECADES = 7


def borders(code: Tensor) -> Tensor:
    """Return the lower border of each rank, positive numbers first: float32 [2 * RANKS], on the device of `code` [256].

    A magnitude has rank r or more exactly if it is not below border r. As in bitsandbytes' CUDA kernel the border is
    the middle between two entries, a number on it goes to the even entry, and a negative number never becomes 0.
    """
    middles = (code[:-1] + code[1:]) * 0.5
    even = torch.arange(len(middles), device=code.device) % 2 == 0
    infinity = torch.full_like(middles, torch.inf)
    table = torch.full((2, RANKS), torch.inf, device=code.device)
    upward = torch.where(even, torch.nextafter(middles, infinity), middles)  # on it: up to the even entry above
    table[0, 1 : 256 - ZERO] = upward[ZERO:]
    sizes = middles.abs()
    downward = torch.where(even, sizes, torch.nextafter(sizes, infinity))
    table[1, 1 : ZERO + 1] = downward[:ZERO].flip(0)
    table[1, 1] = -torch.inf
    return table.view(-1)


def follows_the_lines(code: Tensor) -> bool:
    """Whether `code` [256] is the dynamic map that the lines above describe; the entry 0, which bitsandbytes replaces
    by -1 on a CPU, may be anything. Waits for the device."""
    rank = torch.arange(1, ZERO + 1, dtype=torch.float64)
    decade = rank.log2().floor()
    size = (rank + 0.5 - 8 / 9 * 2**decade) * 0.9e-6 * 5**decade
    values = code.double().cpu()
    positive, negative = values[ZERO + 1 : 255], -values[:ZERO].flip(0)
    close = torch.allclose(positive, size, rtol=1e-5) and torch.allclose(negative[:-1], size[:-1], rtol=1e-5)
    return close and float(values[ZERO]) == 0.0 and float(values[255]) == 1.0
