"""Attention by documents gives the numbers of torch's own attention over each document alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from engine.model.attention.check import gradient_error
from engine.model.attention.operator import document_attention
from engine.model.recompute.matmuls import is_mixing

BORDERS = torch.tensor([0, 1, 8, 8, 11, 23, 23], dtype=torch.int32)
LONGEST, SCALE = 12, 0.3


def inputs(heads: int = 4, key_heads: int = 2, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    counts = (heads, key_heads, key_heads)
    return [torch.randn(23, count, 6, generator=generator, dtype=dtype).requires_grad_() for count in counts]


def by_torch(query: Tensor, key: Tensor, value: Tensor, window: int | None) -> Tensor:
    """Each document by itself, through the operation that the library's models use."""
    parts = []
    for start, stop in pairwise(BORDERS.tolist()):
        q, k, v = (one[start:stop].transpose(0, 1)[None] for one in (query, key, value))
        mask = torch.ones(stop - start, stop - start, dtype=torch.bool).tril()
        if window is not None:
            mask = mask.triu(1 - window)
        parts.append(F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=SCALE, enable_gqa=True)[0])
    return torch.cat(parts, dim=1).transpose(0, 1)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("key_heads", [1, 2, 4])
def test_outputs_and_gradients_are_those_of_each_document_alone(key_heads: int, window: int | None) -> None:
    tensors = inputs(key_heads=key_heads)
    found, _ = document_attention(*tensors, BORDERS, LONGEST, SCALE, window)
    wanted = by_torch(*tensors, window)
    torch.testing.assert_close(found, wanted)
    above = torch.randn(found.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    torch.testing.assert_close(torch.autograd.grad(found, tensors, above), torch.autograd.grad(wanted, tensors, above))


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
def test_the_error_that_the_check_finds_is_the_rounding_of_the_type(dtype: torch.dtype, limit: float) -> None:
    assert 0 < gradient_error(torch.device("cpu"), dtype, 4, 2, 16) < limit


@pytest.mark.filterwarnings("ignore")
def test_the_library_finds_nothing_wrong_with_the_operator() -> None:
    torch.library.opcheck(document_attention, (*inputs(dtype=torch.float32), BORDERS, LONGEST, SCALE))


def test_a_trace_without_memory_sees_the_shapes_that_a_run_would() -> None:
    with FakeTensorMode():
        query, key = (torch.empty(23, heads, 64, dtype=torch.bfloat16, device="cuda") for heads in (4, 2))
        borders = torch.empty(7, dtype=torch.int32, device="cuda")
        outputs, log_sums = document_attention(query, key, key, borders, LONGEST, SCALE)
        found = torch.ops.pgs.document_attention_backward(
            outputs, query, key, key, outputs, log_sums, borders, LONGEST, SCALE
        )
    assert (outputs.shape, outputs.dtype, outputs.device.type) == (query.shape, torch.bfloat16, "cuda")
    assert (log_sums.shape, log_sums.dtype) == ((4, 23), torch.float32)
    assert [(one.shape, one.dtype) for one in found] == [(one.shape, one.dtype) for one in (query, key, key)]


def test_selective_recomputation_keeps_what_it_gives() -> None:
    operators: Any = torch.ops.pgs
    assert is_mixing(operators.document_attention.default)
    assert not is_mixing(operators.document_attention_backward.default)
