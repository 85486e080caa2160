"""How far float8 products are from exact ones on this device: what `pgs doctor` proves."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_TOKENS, _INPUTS, _OUTPUTS = 256, 512, 384


def float8_error(device: torch.device, *, emulate: bool = False) -> float:
    """The largest error of output and gradients of one layer against float64, as a share of their length.

    Rounding to E4M3 and E5M2 gives 0.04 to 0.07 for numbers of a normal distribution.
    """
    from engine.model.float8.linear import convert  # torchao takes a second to import

    generator = torch.Generator().manual_seed(0)
    rows, towards = (
        torch.randn(_TOKENS, width, generator=generator).to(device, torch.bfloat16) for width in (_INPUTS, _OUTPUTS)
    )
    layers = nn.ModuleDict({"linear": nn.Linear(_INPUTS, _OUTPUTS, bias=False, device=device, dtype=torch.bfloat16)})
    linear = layers["linear"]
    assert isinstance(linear, nn.Linear)
    exact = nn.Linear(_INPUTS, _OUTPUTS, bias=False, device=device, dtype=torch.float64)
    with torch.no_grad():
        weight = torch.randn(linear.weight.shape, generator=generator)
        exact.weight.copy_(linear.weight.copy_(weight))
    wanted = _results(exact, rows.double(), towards.double())
    convert(layers, {"linear": linear}, emulate=emulate)
    found = _results(layers["linear"], rows, towards)
    errors = [(one.double() - other).norm() / other.norm() for one, other in zip(found, wanted, strict=True)]
    return max(float(error) for error in errors)


def _results(linear: nn.Module, rows: Tensor, towards: Tensor) -> tuple[Tensor, ...]:
    """Output [T, out], and the gradients of input [T, in] and weight [out, in] where the output's is `towards`."""
    rows = rows.detach().requires_grad_()
    output: Tensor = linear(rows)
    return output.detach(), *torch.autograd.grad(output, (rows, *linear.parameters()), towards)
