"""Which kernels run, whether their gradients are right, and what would fall back in silence."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from importlib.util import find_spec

import torch

from engine.doctor.result import Outcome, Patient, failed, ok, warning
from engine.model.delta_rule.check import KernelReport, gradient_error, kernel_report
from engine.model.load import pick_device

LIMITS = {torch.float32: 1e-4, torch.bfloat16: 3e-2}
"""Largest error of outputs and gradients; rounding gives about 1e-6 and 1e-2, a wrong gradient about 1."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """What is installed for this device, and the operator's error against a token-by-token loop in float64."""

    device: str
    report: KernelReport
    error: float
    limit: float
    bitsandbytes_on_gpu: bool = True


def check_kernels(patient: Patient) -> Outcome:
    """Run the gated delta rule forward and backward, and ask the libraries what they would use."""
    device = pick_device()
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    on_gpu = device.type != "cuda" or _bitsandbytes_has_cuda()
    return judge(Kernels(device.type, kernel_report(device), gradient_error(device, dtype), LIMITS[dtype], on_gpu))


def judge(kernels: Kernels) -> Outcome:
    """The verdict from what runs and how far it is off."""
    report, on_gpu = kernels.report, kernels.device == "cuda"
    runs = _named(report) if on_gpu and report.usable else "torch's own code"
    found = f"gated delta rule by {runs}: {kernels.error:.0e} off a float64 loop, gradients too"
    if not kernels.error <= kernels.limit:
        return failed(f"{found} (allowed {kernels.limit:.0e})", "pip install -U flash-linear-attention triton tilelang")
    if on_gpu and not kernels.bitsandbytes_on_gpu:
        return failed(
            "bitsandbytes has no library for this CUDA version: 8-bit optimizers cannot run on the GPU",
            "pip install -U bitsandbytes (see `python -m bitsandbytes`), or train.optimizer: adamw",
        )
    if on_gpu and report.refused is not None:
        return warning(
            f"the kernels for the gated delta rule are refused: {report.refused}; slower code takes their place",
            "pip install -U 'triton>=3.7.1', or pip install tilelang",
        )
    if on_gpu and report.flash_linear_attention is None:
        return warning(
            f"{found}; flash-linear-attention is missing, so models with gated DeltaNet layers take slow code",
            "pip install 'pgs-tui[gpu]'",
        )
    return ok(found)


def _named(report: KernelReport) -> str:
    versions = (
        ("flash-linear-attention", report.flash_linear_attention),
        ("Triton", report.triton),
        ("tilelang", report.tilelang),
    )
    return ", ".join(f"{name} {version}" for name, version in versions if version is not None)


def _bitsandbytes_has_cuda() -> bool:
    """Whether its 8-bit update runs on the GPU; without a fitting library it says so only when it is called."""
    if find_spec("bitsandbytes") is None:
        return False
    import bitsandbytes

    weight = torch.ones(4096, device="cuda", requires_grad=True)
    weight.grad = torch.ones_like(weight)
    with contextlib.suppress(RuntimeError, NameError, AttributeError):
        bitsandbytes.optim.Lion8bit([weight], lr=1.0).step()
        return bool((weight != 1).all())
    return False
