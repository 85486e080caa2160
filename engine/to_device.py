"""Tensors on their way from the host to the device, without waiting for what that has still to do."""

from __future__ import annotations

import torch
from torch import Tensor


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on `device`. Nobody waits: the program for the device, nor the device for the program.

    CUDA copies from page-locked memory alone beside the program; anything else it stages first, and may wait for all
    that was queued before. So what lies in ordinary memory is brought into page-locked memory, whose block torch keeps
    for reuse until the copy is over.
    """
    if device.type == "cuda" and tensor.device.type == "cpu" and not tensor.is_pinned():
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)
