"""The chunked cross-entropy equals the plain one and never holds the full logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from engine.labels import IGNORED_LABEL
from engine.loss import chunked_cross_entropy, token_losses

TOKENS, HIDDEN, VOCABULARY = 13, 8, 31

VARIANTS: list[dict[str, Any]] = [
    {},
    {"bias": True},
    {"softcap": 3.0},
    {"scale": 0.25},
    {"bias": True, "softcap": 3.0, "scale": 2.0},
]


def make_inputs(
    dtype: torch.dtype, tokens: int = TOKENS, hidden: int = HIDDEN, vocabulary: int = VOCABULARY
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(7)
    states = torch.randn(tokens, hidden, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    weight = torch.randn(vocabulary, hidden, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    bias = torch.randn(vocabulary, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()
    labels = torch.randint(vocabulary, (tokens,), generator=generator)
    labels[[0, 3, tokens - 1]] = IGNORED_LABEL
    return states, weight, bias, labels


def plain_cross_entropy(
    hidden: Tensor, weight: Tensor, labels: Tensor, bias: Tensor | None, softcap: float | None, scale: float
) -> Tensor:
    logits = scale * functional.linear(hidden, weight, bias)
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    return functional.cross_entropy(logits, labels, reduction="sum", ignore_index=IGNORED_LABEL)


def gradients(loss: Tensor, inputs: list[Tensor], factor: float = 1.0) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss * factor, inputs)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "+".join(variant) or "plain")
@pytest.mark.parametrize("chunk_tokens", [1, 4, TOKENS, 100])
def test_loss_and_gradients_equal_plain_cross_entropy(variant: dict[str, Any], chunk_tokens: int) -> None:
    hidden, weight, bias, labels = make_inputs(torch.float64)
    options = {"softcap": None, "scale": 1.0} | variant
    options["bias"] = bias if variant.get("bias") else None
    inputs = [hidden, weight] + ([bias] if variant.get("bias") else [])

    loss = chunked_cross_entropy(hidden, weight, labels, chunk_tokens, **options)
    expected = plain_cross_entropy(hidden, weight, labels, **options)

    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    for ours, plain in zip(gradients(loss, inputs, 0.3), gradients(expected, inputs, 0.3), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-10, atol=1e-12)


def test_gradients_equal_finite_differences() -> None:
    """Not torch's gradcheck: that one differentiates the same graph twice, which the loss refuses."""
    hidden, weight, bias, labels = make_inputs(torch.float64, tokens=5, hidden=3, vocabulary=7)

    def loss() -> Tensor:
        return chunked_cross_entropy(hidden, weight, labels, 2, bias=bias, softcap=2.0, scale=1.5)

    step = 1e-6
    for tensor, gradient in zip((hidden, weight, bias), gradients(loss(), [hidden, weight, bias]), strict=True):
        flat = tensor.detach().view(-1)
        for index in range(flat.numel()):
            kept = flat[index].item()
            flat[index] = kept + step
            above = loss().item()
            flat[index] = kept - step
            below = loss().item()
            flat[index] = kept
            assert gradient.view(-1)[index].item() == pytest.approx((above - below) / (2 * step), abs=1e-7)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
def test_low_precision_stays_close_to_float64(dtype: torch.dtype, tolerance: float) -> None:
    hidden, weight, _, labels = make_inputs(dtype, tokens=96, hidden=32, vocabulary=200)
    exact_inputs = [hidden.detach().double().requires_grad_(), weight.detach().double().requires_grad_()]
    exact = plain_cross_entropy(*exact_inputs, labels, None, None, 1.0)

    loss = chunked_cross_entropy(hidden, weight, labels, 10)

    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=tolerance)
    pairs = zip(gradients(loss, [hidden, weight], 1 / 93), gradients(exact, exact_inputs, 1 / 93), strict=True)
    for ours, expected in pairs:
        assert ours.dtype == dtype
        error = (ours.double() - expected).norm() / expected.norm()
        assert error.item() < tolerance


def test_bfloat16_weight_gradient_loses_nothing_over_many_chunks() -> None:
    hidden, weight, _, labels = make_inputs(torch.bfloat16, tokens=400, hidden=16, vocabulary=20)
    exact_inputs = [hidden.detach().double().requires_grad_(), weight.detach().double().requires_grad_()]
    exact = gradients(plain_cross_entropy(*exact_inputs, labels, None, None, 1.0), exact_inputs)[1]

    errors = [
        (gradients(chunked_cross_entropy(hidden, weight, labels, chunk), [weight])[0].double() - exact).norm()
        for chunk in (1, 400)
    ]

    assert errors[0] < 1.1 * errors[1]


def test_the_factor_of_the_backward_pass_is_not_rounded_to_bfloat16() -> None:
    hidden, weight, _, labels = make_inputs(torch.bfloat16, tokens=64, hidden=16, vocabulary=50)
    factor = 0.3  # the nearest bfloat16 number is 0.26 % larger
    unscaled = gradients(chunked_cross_entropy(hidden, weight, labels, 8), [hidden, weight])
    scaled = gradients(chunked_cross_entropy(hidden, weight, labels, 8), [hidden, weight], factor)

    for one, other in zip(scaled, unscaled, strict=True):
        ratio = (one.float().norm() / other.float().norm()).item()
        assert ratio == pytest.approx(factor, rel=5e-4)


@pytest.mark.parametrize("chunk_tokens", [1, 2, 7, 64])
def test_chunk_size_changes_nothing(chunk_tokens: int) -> None:
    hidden, weight, _, labels = make_inputs(torch.float32)
    reference = chunked_cross_entropy(hidden, weight, labels, TOKENS)
    loss = chunked_cross_entropy(hidden, weight, labels, chunk_tokens)

    torch.testing.assert_close(loss, reference, rtol=1e-6, atol=1e-6)
    for ours, expected in zip(gradients(loss, [hidden, weight]), gradients(reference, [hidden, weight]), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-6)


def test_without_loss_tokens_everything_is_exactly_zero() -> None:
    hidden, weight, bias, labels = make_inputs(torch.float32)
    labels.fill_(IGNORED_LABEL)

    loss = chunked_cross_entropy(hidden, weight, labels, 4, bias=bias)
    loss.backward()

    assert loss.item() == 0.0
    for tensor in (hidden, weight, bias):
        assert tensor.grad is not None and tensor.grad.count_nonzero() == 0


def test_splitting_a_batch_unevenly_changes_neither_loss_nor_gradient() -> None:
    """Sums divided by the token count of the whole batch, an empty micro-batch among them."""
    hidden, weight, _, labels = make_inputs(torch.float64)
    labels[5:8] = IGNORED_LABEL
    count = int((labels != IGNORED_LABEL).sum())
    whole = chunked_cross_entropy(hidden, weight, labels, 4) / count
    expected = gradients(whole, [hidden, weight])

    parts = [chunked_cross_entropy(hidden[a:b], weight, labels[a:b], 4) / count for a, b in ((0, 5), (5, 8), (8, 13))]
    actual = gradients(torch.stack(parts).sum(), [hidden, weight])

    torch.testing.assert_close(torch.stack(parts).sum(), whole)
    torch.testing.assert_close(actual, expected)


def test_a_frozen_head_gets_no_gradient_and_no_buffer() -> None:
    hidden, weight, _, labels = make_inputs(torch.float32)
    weight = weight.detach()
    shapes = shapes_made(lambda: chunked_cross_entropy(hidden, weight, labels, 4).backward())

    assert weight.grad is None and hidden.grad is not None
    assert (VOCABULARY, HIDDEN) not in shapes


def test_a_tied_head_is_touched_once_per_backward_pass() -> None:
    embedding = torch.nn.Parameter(torch.randn(VOCABULARY, HIDDEN))
    ids = torch.arange(TOKENS)
    calls: list[int] = []
    embedding.register_post_accumulate_grad_hook(lambda _: calls.append(1))

    chunked_cross_entropy(functional.embedding(ids, embedding), embedding, ids, 2).backward()

    assert calls == [1]


def test_no_tensor_of_full_logits_is_made() -> None:
    tokens, hidden_size, vocabulary, chunk = 256, 8, 512, 16
    hidden, weight, bias, labels = make_inputs(torch.float32, tokens, hidden_size, vocabulary)

    shapes = shapes_made(
        lambda: chunked_cross_entropy(hidden, weight, labels, chunk, bias=bias, softcap=5.0).backward()
    )
    shapes |= shapes_made(lambda: token_losses(hidden, weight, labels, chunk))

    largest = max(torch.Size(shape).numel() for shape in shapes)
    assert largest == chunk * vocabulary
    assert largest < tokens * vocabulary // 10


def test_no_gradient_is_computed_in_evaluation() -> None:
    hidden, weight, _, labels = make_inputs(torch.float32)
    expected = chunked_cross_entropy(hidden, weight, labels, 4)
    results: list[Tensor] = []
    with torch.no_grad():
        shapes = shapes_made(lambda: results.append(chunked_cross_entropy(hidden, weight, labels, 4)))

    torch.testing.assert_close(results[0], expected.detach())
    assert not results[0].requires_grad
    assert (VOCABULARY, HIDDEN) not in shapes


def test_a_second_backward_pass_is_refused_with_the_reason() -> None:
    hidden, weight, _, labels = make_inputs(torch.float32)
    loss = chunked_cross_entropy(hidden, weight, labels, 4)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="differentiated twice"):
        loss.backward()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "+".join(variant) or "plain")
def test_token_losses_equal_unreduced_cross_entropy(variant: dict[str, Any]) -> None:
    hidden, weight, bias, labels = make_inputs(torch.float64)
    softcap, scale = variant.get("softcap"), variant.get("scale", 1.0)
    used_bias = bias if variant.get("bias") else None
    logits = scale * functional.linear(hidden, weight, used_bias)
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    expected = functional.cross_entropy(logits, labels, reduction="none", ignore_index=IGNORED_LABEL)

    losses = token_losses(hidden, weight, labels, 4, used_bias, softcap, scale)

    assert losses.shape == labels.shape and not losses.requires_grad
    torch.testing.assert_close(losses, expected.detach())


def test_large_logits_neither_overflow_nor_vanish() -> None:
    hidden = torch.tensor([[1000.0], [1000.0]], requires_grad=True)
    weight = torch.tensor([[1.0], [-1.0]])
    loss = chunked_cross_entropy(hidden, weight, torch.tensor([0, 1]), 1)

    assert loss.item() == 2000.0
    assert torch.isfinite(gradients(loss, [hidden])[0]).all()


def test_a_non_finite_hidden_state_shows_in_the_loss() -> None:
    hidden, weight, _, labels = make_inputs(torch.float32)
    hidden.detach()[5, 0] = float("nan")
    assert torch.isnan(chunked_cross_entropy(hidden, weight, labels, 4))


class _ShapeRecorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.shapes: set[tuple[int, ...]] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view:
            outputs = result if isinstance(result, (tuple, list)) else (result,)
            dense = (one for one in outputs if isinstance(one, Tensor) and one.layout == torch.strided)
            self.shapes |= {tuple(one.shape) for one in dense}
        return result


def shapes_made(work: Callable[[], object]) -> set[tuple[int, ...]]:
    """Return the shapes of all tensors that `work` makes, views and sparse ones left out."""
    with _ShapeRecorder() as recorder:
        work()
    return recorder.shapes
