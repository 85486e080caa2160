"""Whether what torch.compile needs is there: Triton for a GPU, a C++ compiler for the CPU."""

from __future__ import annotations

import torch

from engine.errors import UserError


def require_compiler(device: torch.device) -> None:
    """Raise UserError, before anything is loaded, when the layers could not be compiled for this device."""
    lacking = _lacking_on_gpu() if device.type == "cuda" else _lacking_on_cpu()
    if lacking:
        raise UserError(f"model.compile: {lacking}, or set model.compile: false.")


def _lacking_on_gpu() -> str | None:
    from torch.utils._triton import has_triton, has_triton_package

    if not has_triton_package():
        return "compiling for this GPU needs Triton, which is not installed: install the triton that belongs to torch"
    if not has_triton():
        return "Triton does not work on this GPU, it needs compute capability 7.0 or newer: take another GPU"
    return None


def _lacking_on_cpu() -> str | None:
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return "compiling for the CPU needs a C++ compiler, and none is found: install one such as g++"
    return None
