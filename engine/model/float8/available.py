"""Whether this machine can multiply in float8, and if not, why."""

from __future__ import annotations

import importlib.metadata

import torch

from engine.errors import UserError

_LOWEST_CAPABILITY = (8, 9)
"""Ada; Hopper and Blackwell are above it. Tensor cores of earlier GPUs know no float8."""


def require_float8(device: torch.device) -> None:
    """Raises UserError, in one sentence, where `memory.float8_training` cannot work on this device."""
    capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else None
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    problem = float8_problem(name, capability, torchao_version())
    if problem is not None:
        raise UserError(f"memory.float8_training: {problem}, or set memory.float8_training: false.")


def float8_problem(gpu: str | None, capability: tuple[int, int] | None, torchao: str | None) -> str | None:
    """Why float8 is not to be had on this GPU (None for the CPU) with this torchao (None for none), and the way out.

    None where it is. The text ends with what to do, so that an alternative can follow.
    """
    needed = "a GPU of compute capability 8.9 or newer (RTX 40, L4, L40S, H100 and later)"
    if gpu is None or capability is None:
        return f"this run trains on the CPU, and float8 needs {needed}: train there"
    if capability < _LOWEST_CAPABILITY:
        found = ".".join(map(str, capability))
        return f"{gpu} has compute capability {found}, and float8 needs {needed}: train there"
    if torchao is None:
        return "float8 needs torchao, which is not installed: pip install 'pgs-tui[gpu]'"
    return None


def torchao_version() -> str | None:
    """The installed version of torchao, None without it."""
    try:
        return importlib.metadata.version("torchao")
    except importlib.metadata.PackageNotFoundError:
        return None
