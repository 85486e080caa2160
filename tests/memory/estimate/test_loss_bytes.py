"""What the pass through the head holds: counted while it really runs, and where a GPU rounds, by what was measured."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from engine.config.schema import Memory
from engine.loss import chunked_cross_entropy, cross_entropy_and_tokens
from engine.memory.estimate.loss_bytes import Head, loss_bytes, tiles_bytes
from engine.units import GIB, MIB
from tests.memory.counting import peak_of

TOKENS, WIDTH, VOCABULARY = 512, 64, 4096
QWEN_HEAD = Head(vocabulary=248_320, width=2560, element=2, is_trained=True, tokens=4096)


def head_and_hidden(is_trained: bool) -> tuple[Head, Tensor, Tensor, Tensor]:
    weight = torch.randn(VOCABULARY, WIDTH, requires_grad=is_trained)
    hidden = torch.randn(TOKENS, WIDTH, requires_grad=True)
    labels = torch.randint(VOCABULARY, (TOKENS,))
    return Head(VOCABULARY, WIDTH, 4, is_trained, TOKENS), weight, hidden, labels


def highest(head: Head, memory: Memory) -> int:
    return max(moment.work + moment.gradients for moment in loss_bytes(head, memory).moments)


@pytest.mark.parametrize("chunk", [128, 512, 2000], ids=lambda chunk: f"chunks of {chunk}")
@pytest.mark.parametrize("is_trained", [True, False], ids=["trained", "frozen"])
def test_the_chunked_loss_holds_what_is_said(chunk: int, is_trained: bool) -> None:
    head, weight, hidden, labels = head_and_hidden(is_trained)

    def differentiate() -> tuple[Tensor, ...]:
        loss = chunked_cross_entropy(hidden, weight, labels, chunk)
        return torch.autograd.grad(loss, (hidden, weight) if is_trained else (hidden,))

    held, gradients = peak_of(differentiate)
    assert held == pytest.approx(highest(head, Memory(loss_chunk_tokens=chunk)), rel=0.03)
    left = loss_bytes(head, Memory(loss_chunk_tokens=chunk))
    assert sum(gradient.nbytes for gradient in gradients) == left.left + left.gradients


@pytest.mark.parametrize("is_trained", [True, False], ids=["trained", "frozen"])
def test_so_does_the_loss_of_full_logits(is_trained: bool) -> None:
    head, weight, hidden, labels = head_and_hidden(is_trained)

    def differentiate() -> tuple[Tensor, ...]:
        loss = F.cross_entropy((hidden @ weight.t()).float(), labels, reduction="sum")
        return torch.autograd.grad(loss, (hidden, weight) if is_trained else (hidden,))

    held, _ = peak_of(differentiate)
    assert held == pytest.approx(highest(head, Memory(chunked_loss=False)), rel=0.03)


def test_and_a_tiled_head() -> None:
    head, weight, hidden, labels = head_and_hidden(is_trained=True)
    memory = Memory(loss_chunk_tokens=128, tiled_head=True, gradient_release=True)

    def into_body() -> tuple[Tensor, object]:
        loss, tokens = cross_entropy_and_tokens(hidden, weight, labels, 128)
        return torch.autograd.grad(loss, hidden)[0], tokens

    held, (gradient, tokens) = peak_of(into_body)
    said = loss_bytes(head, memory)
    assert held == pytest.approx(highest(head, memory), rel=0.03)
    assert said.gradients == 0
    assert said.left == gradient.nbytes + tokens.hidden.nbytes

    held, _ = peak_of(lambda: tokens.weight_gradient(*tokens.tiles()[0], torch.ones(())).sum())
    assert held == pytest.approx(tiles_bytes(head, tied=False).work, rel=0.01)


def test_of_qwen_in_chunks_of_256_it_is_what_an_h200_held() -> None:
    """12.6182 GiB before the loss and 13.0150 at its peak: docs/performance/h200.json, all_2x2048_tiled."""
    memory = Memory(loss_chunk_tokens=256, tiled_head=True, gradient_release=True)
    assert highest(QWEN_HEAD, memory) / GIB == pytest.approx(13.0150 - 12.6182, abs=0.001)


def test_bfloat16_in_large_chunks_has_a_float32_sum_and_then_the_gradient_beside_it() -> None:
    weight = QWEN_HEAD.weight
    said = loss_bytes(QWEN_HEAD, Memory(loss_chunk_tokens=1024))
    assert [moment.gradients for moment in said.moments] == [0, weight]
    assert said.moments[1].work > 2 * weight and said.moments[0].work > 2 * weight + 1024 * 248_320 * 6
    in_one = loss_bytes(QWEN_HEAD, Memory(loss_chunk_tokens=4096))
    assert in_one.moments[0].gradients == weight and in_one.moments[0].work < 4096 * 248_320 * 6 + 100 * MIB


def test_a_head_in_small_chunks_is_made_by_tiles_beside_its_gradient() -> None:
    said = loss_bytes(QWEN_HEAD, Memory(loss_chunk_tokens=256))
    assert said.moments[1].gradients == QWEN_HEAD.weight
    assert said.moments[1].work < 256 * MIB + 3 * QWEN_HEAD.states + MIB
