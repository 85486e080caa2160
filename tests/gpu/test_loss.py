"""The loss on the GPU against float64: its value, the losses of single tokens, and every gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.loss import chunked_cross_entropy, token_losses

from .machine import DEVICE, HAS_GPU, on_gpu_alone

pytestmark = pytest.mark.gpu
LOSS_LIMIT = {torch.float32: 1e-6, torch.bfloat16: 1e-5 if HAS_GPU else 1e-3}
"""Shares. On the CPU logits of bfloat16 factors are rounded to bfloat16 themselves."""
GRADIENT_LIMIT = {torch.float32: 1e-5, torch.bfloat16: 6e-3 if HAS_GPU else 3e-2}
"""Of the norms of the differences: each number of a bfloat16 gradient is rounded by up to 0.4 %, its factors too."""


@dataclass(frozen=True)
class Case:
    """So many tokens, hidden width, vocabulary, and what turns products into logits."""

    tokens: int = 300
    width: int = 256
    vocabulary: int = 5003
    chunk: int = 64
    softcap: float | None = None
    scale: float = 1.0
    has_bias: bool = False
    labelled: float = 0.7
    size: float = 1.0

    def inputs(self, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        generator = torch.Generator().manual_seed(0)

        def draw(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator)

        hidden = draw(self.tokens, self.width)
        head = draw(self.vocabulary, self.width).mul_(self.size * self.width**-0.5)
        bias = draw(self.vocabulary) if self.has_bias else None
        labels = torch.randint(self.vocabulary, (self.tokens,), generator=generator)
        labels[torch.rand(self.tokens, generator=generator) >= self.labelled] = -100
        on_device = [None if one is None else one.to(DEVICE, dtype).requires_grad_() for one in (hidden, head, bias)]
        return on_device[0], on_device[1], on_device[2], labels  # type: ignore[return-value]


CASES = {
    "usual": Case(),
    "all-labelled": Case(labelled=1.1, chunk=100),
    "one-chunk": Case(chunk=4096),
    "one-token-a-chunk": Case(tokens=5, chunk=1, labelled=1.1),
    "few-labelled": Case(labelled=0.02),
    "softcap-scale-bias": Case(softcap=5.0, scale=0.5, has_bias=True),
    "large-logits": Case(size=30.0),
    "vocabulary-of-qwen": Case(tokens=70, width=64, vocabulary=248_320),
    "vocabulary-below-a-block": Case(vocabulary=97),
}


def exactly(hidden: Tensor, head: Tensor, bias: Tensor | None, labels: Tensor, case: Case) -> Tensor:
    """The losses of the tokens [T] in float64."""
    logits = hidden @ head.T
    logits = (logits if bias is None else logits + bias) * case.scale
    if case.softcap is not None:
        logits = case.softcap * torch.tanh(logits / case.softcap)
    return F.cross_entropy(logits, labels.to(logits.device), reduction="none", ignore_index=-100)


def error(found: Tensor, wanted: Tensor) -> float:
    return float((found.double() - wanted).norm() / wanted.norm())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradients_are_those_of_float64(name: str, dtype: torch.dtype) -> None:
    case = CASES[name]
    *inputs, labels = case.inputs(dtype)
    leaves = [one for one in inputs if one is not None]
    exact = [None if one is None else one.detach().double().requires_grad_() for one in inputs]
    wanted = exactly(*exact, labels, case).sum()  # type: ignore[misc]
    wanted_gradients = torch.autograd.grad(wanted / 7, [one for one in exact if one is not None])

    loss = loss_of(inputs, labels, case)
    gradients = torch.autograd.grad(loss / 7, leaves)
    assert abs(float(loss.detach() - wanted.detach())) <= LOSS_LIMIT[dtype] * float(wanted.detach())
    for found, true in zip(gradients, wanted_gradients, strict=True):
        assert found.dtype == dtype
        assert error(found, true) <= GRADIENT_LIMIT[dtype]


@on_gpu_alone
@pytest.mark.parametrize("name", ["usual", "softcap-scale-bias", "large-logits", "vocabulary-below-a-block"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_kernel_gives_what_torch_gives(name: str, dtype: torch.dtype) -> None:
    """Of the same products: losses, log sums, the gradient, and its tiles of the vocabulary."""
    from engine.loss import softmax_kernel, softmax_torch
    from engine.loss.projection import Projection

    case = CASES[name]
    hidden, weight, bias, labels = (None if one is None else one.detach() for one in CASES[name].inputs(torch.float32))
    assert hidden is not None and weight is not None and labels is not None
    targets = labels.clamp(min=0).to(DEVICE)
    head = Projection(weight, bias, case.softcap, case.scale)
    products = hidden @ weight.T
    found, wanted = (products.new_zeros(products.shape, dtype=dtype) for _ in range(2))
    losses, log_sums = softmax_kernel.losses_and_gradient(products.clone(), targets, head, found)
    true_losses, true_sums = softmax_torch.losses_and_gradient(products.clone(), targets, head, wanted)
    torch.testing.assert_close(losses, true_losses, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(log_sums, true_sums, rtol=1e-5, atol=1e-5)
    limit = 1e-5 if dtype == torch.float32 else 4e-3
    assert error(found, wanted.double()) <= limit
    for begin in range(0, case.vocabulary, 2048):
        part = slice(begin, min(begin + 2048, case.vocabulary))
        tile = torch.empty_like(found[:, part]).contiguous()
        softmax_kernel.tile_gradient(products[:, part].contiguous(), targets, log_sums, head, begin, tile)
        torch.testing.assert_close(tile.float(), found[:, part].float(), rtol=1e-2, atol=2e-5)


@pytest.mark.parametrize("name", ["usual", "softcap-scale-bias"])
def test_the_loss_of_each_token_is_that_of_float64(name: str) -> None:
    case = CASES[name]
    hidden, head, bias, labels = case.inputs(torch.bfloat16)
    found = token_losses(hidden, head, labels, case.chunk, bias=bias, softcap=case.softcap, scale=case.scale)
    exact = [None if one is None else one.detach().double() for one in (hidden, head, bias)]
    wanted = exactly(*exact, labels, case)  # type: ignore[arg-type]
    assert bool((found[(labels == -100).to(DEVICE)] == 0).all())
    assert error(found, wanted) <= LOSS_LIMIT[torch.bfloat16]


def test_a_head_without_gradient_changes_nothing_of_the_rest() -> None:
    case = CASES["usual"]
    hidden, head, _, labels = case.inputs(torch.bfloat16)
    both = torch.autograd.grad(loss_of([hidden, head, None], labels, case), [hidden, head])
    [alone] = torch.autograd.grad(loss_of([hidden, head.detach(), None], labels, case), [hidden])
    assert torch.equal(alone, both[0])


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_token_that_is_not_finite_makes_the_loss_so(value: float) -> None:
    case = CASES["usual"]
    hidden, head, _, labels = case.inputs(torch.bfloat16)
    broken = hidden.detach().clone()
    broken[int((labels != -100).nonzero()[0])] = value
    assert not bool(torch.isfinite(loss_of([broken, head, None], labels, case)))


def test_no_labelled_token_is_no_loss_and_no_gradient() -> None:
    case = CASES["usual"]
    hidden, head, _, labels = case.inputs(torch.bfloat16)
    loss = loss_of([hidden, head, None], torch.full_like(labels, -100), case)
    assert float(loss.detach()) == 0
    assert all(not bool(one.any()) for one in torch.autograd.grad(loss, [hidden, head]))


def loss_of(inputs: list[Any], labels: Tensor, case: Case) -> Tensor:
    hidden, head, bias = inputs
    return chunked_cross_entropy(hidden, head, labels, case.chunk, bias=bias, softcap=case.softcap, scale=case.scale)
