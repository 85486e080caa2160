"""`pgs` on a part of the card: python -m tests.bench.training.capped GIB train --config FILE ..."""

from __future__ import annotations

import sys

import torch

from engine.cli import main
from engine.units import GIB


def cap_memory(gib: float) -> None:
    """Let the allocator hold no more than that of the first GPU: what is beyond is out of memory."""
    if torch.cuda.is_available():
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, gib * GIB / total), 0)


if __name__ == "__main__":
    cap_memory(float(sys.argv[1]))
    raise SystemExit(main(sys.argv[2:]))
