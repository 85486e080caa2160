"""Where kernels in Triton run: those of the loss, the optimizer and the norms of gradients."""

from __future__ import annotations

from importlib.util import find_spec

import torch


def triton_on(device: torch.device) -> bool:
    """Whether they run there: an NVIDIA GPU, and the package is installed."""
    return device.type == "cuda" and torch.version.hip is None and find_spec("triton") is not None
