"""The convolution's kernels on the GPU: every case that the interpreter tries, and the operator at a layer's size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from engine.model.delta_rule import convolution
from engine.model.delta_rule.operators import causal_conv1d

from .machine import DEVICE, HAS_GPU, on_gpu_alone

pytestmark = pytest.mark.gpu
TOKENS, CHANNELS, KEY_WIDTH = (4096, 8192, 2048) if HAS_GPU else (160, 24, 6)
LIMIT = {torch.float32: 1e-5, torch.bfloat16: 1e-2}
"""Shares of their lengths: sums run in another order, and in bfloat16 each output is rounded."""


@on_gpu_alone
def test_every_case_that_the_interpreter_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.model.delta_rule import convolution_cases

    for name in ("FORWARD_ROWS", "BACKWARD_ROWS"):  # the cases set them; put back afterwards
        monkeypatch.setattr(convolution_cases.convolution_kernels, name, 8)
    convolution_cases.main()


@pytest.mark.parametrize("dtype", LIMIT)
@pytest.mark.parametrize("borders", [None, (0, 1, 3, 6, 67, 131, 131, TOKENS, TOKENS)], ids=["line", "documents"])
def test_the_operator_computes_what_torch_does(dtype: torch.dtype, borders: Sequence[int] | None) -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(*shape, generator=generator) for shape in ((1, TOKENS, CHANNELS), (CHANNELS, 4))]
    inputs, weight = (one.to(DEVICE, dtype).requires_grad_() for one in drawn)
    above = torch.randn(1, TOKENS, CHANNELS, generator=generator).to(DEVICE, dtype)
    on_host = None if borders is None else torch.tensor(borders, dtype=torch.int32)
    cu_seqlens = None if on_host is None else on_host.to(DEVICE)
    sections = causal_conv1d(inputs, weight, KEY_WIDTH, cu_seqlens, on_host)
    assert all(one.is_contiguous() for one in sections)
    outputs = torch.cat(sections, dim=-1)
    found = [outputs.detach(), *torch.autograd.grad(outputs, [inputs, weight], above)]
    exact = [one.detach().double() for one in (above, inputs, weight)]
    wanted = [convolution.forward(*exact[1:], on_host), *convolution.backward(*exact, on_host)]
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == dtype
        assert float((one.double() - other).norm() / other.norm()) < LIMIT[dtype]
