"""Puts the operators into a model, after proof that they compute what its layers computed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from engine.model.delta_rule.kernels import KernelReport, kernel_report
from engine.model.delta_rule.mixer import can_replace, replace_forward, restore_forward

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SLOWER = "several times slower than the kernels"
PROBE_TOKENS = 70
"""More than one chunk of 64."""
DIFFERENCE_LIMIT = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 5e-2, torch.float16: 1e-2}
"""Largest difference from the layer's own outputs, as a share of their length; sums run in another order."""


def use_delta_rule_operator(model: PreTrainedModel) -> tuple[str, ...]:
    """Let the model's gated DeltaNet layers compute with the operators; returns what to tell of it.

    A layer that the operators do not know, or whose outputs they do not reproduce, stays as it is, and is named.
    """
    by_class: dict[type[nn.Module], list[nn.Module]] = defaultdict(list)
    for module in model.modules():
        if type(module).__name__.endswith("GatedDeltaNet"):
            by_class[type(module)].append(module)
    return tuple(_replaced(kind.__name__, layers) for kind, layers in by_class.items())


def _replaced(name: str, layers: list[nn.Module]) -> str:
    """Replace the forward pass of these layers of one class; returns the sentence about them."""
    named = f"{len(layers)} {name} layers"
    if not all(map(can_replace, layers)):
        return f"{named} compute as the library has them: their parts are not those that the operators know."
    difference = _difference(layers[0])
    device, dtype = _place(layers[0])
    if difference > DIFFERENCE_LIMIT[dtype]:
        return f"{named} compute as the library has them: the operators' outputs differ by {difference:.1%}."
    for layer in layers:
        replace_forward(layer)
    return f"{named} compute the gated delta rule as one operator: {what_runs(device, kernel_report(device))}."


def what_runs(device: torch.device, report: KernelReport) -> str:
    """Which implementation the operators take on this device, and why not a quicker one."""
    if device.type != "cuda":
        return "in torch, as on every device without kernels"
    if report.usable:
        beside = f", tilelang {report.tilelang}" if report.tilelang else ""
        return (
            f"kernels of flash-linear-attention {report.flash_linear_attention} (Triton {report.triton}{beside}) "
            "for the rule, and our own for its convolution"
        )
    reason = report.refused or "flash-linear-attention is not installed (pip install 'pgs-tui[gpu]')"
    return f"in torch, {SLOWER}: {reason}"


@torch.no_grad()
def _difference(layer: nn.Module) -> float:
    """How far the operators' outputs are from the layer's own, as a share of their length; 0 for two broken ones."""
    device, dtype = _place(layer)
    generator = torch.Generator().manual_seed(0)
    width: Any = layer.hidden_size
    hidden = torch.randn(1, PROBE_TOKENS, width, generator=generator).to(device, dtype)
    wanted: Tensor = layer(hidden)
    replace_forward(layer)
    try:
        found: Tensor = layer(hidden)
    finally:
        restore_forward(layer)
    if not wanted.isfinite().all():  # broken weights are no fault of the operators
        return 0.0
    return float((found - wanted).float().norm() / wanted.float().norm())


def _place(layer: nn.Module) -> tuple[torch.device, torch.dtype]:
    weight = layer.get_submodule("out_proj").weight
    assert isinstance(weight, Tensor)
    return weight.device, weight.dtype
