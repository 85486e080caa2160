"""Which chunk of which document each program of the kernels takes, found without waiting for the device.

flash-linear-attention finds it too, but copies it over with a wait, and again for each layer whose forward pass is
computed again, as it knows `cu_seqlens` by the Python object alone.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from engine.model.delta_rule.documents import CHUNK
from engine.to_device import to_device

_KEPT = 32
"""Batches, or slices of one: those of a step's passes, and of one before."""


def chunk_indices(borders: Tensor, like: Tensor) -> Tensor:
    """For each chunk of 64 tokens its document, and its place there: [N, 2], on the device and of the dtype of `like`.

    borders: int [D + 1] on the host, where documents begin and the last one ends; empty ones have no chunk.
    """
    return _chunk_indices(tuple(borders.tolist()), like.dtype, like.device)


@lru_cache(maxsize=_KEPT)
def _chunk_indices(borders: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    lengths = torch.tensor(borders).diff()
    counts = (lengths + CHUNK - 1) // CHUNK  # [D]
    document = torch.repeat_interleave(torch.arange(len(counts)), counts)  # [N]
    place = torch.arange(len(document)) - (counts.cumsum(0) - counts)[document]
    return to_device(torch.stack([document, place], 1).to(dtype), device)
