"""What the head takes on the GPU, beside its results: the logits of a chunk, and of a tile of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from engine.loss import chunked_cross_entropy, cross_entropy_and_tokens, passes

from .machine import DEVICE, on_gpu_alone

pytestmark = [pytest.mark.gpu, on_gpu_alone]
TOKENS, WIDTH, VOCABULARY, CHUNK = 2048, 512, 65_536, 256
TILE_BYTES = 2**26
SMALL = 2**20
"""Losses, log sums, targets, and what the allocator rounds up."""


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator(DEVICE).manual_seed(0)
    hidden = torch.randn(TOKENS, WIDTH, generator=generator, device=DEVICE)
    weight = torch.randn(VOCABULARY, WIDTH, generator=generator, device=DEVICE).mul_(WIDTH**-0.5)
    labels = torch.randint(VOCABULARY, (TOKENS,))
    return hidden.bfloat16().requires_grad_(), weight.bfloat16().requires_grad_(), labels


def peak_of(work: Callable[[], object]) -> int:
    """Bytes at once above what was there; the workspace of the products is there from a first time on."""
    work()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def test_a_tile_takes_no_more_than_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "TILE_BYTES", TILE_BYTES)
    hidden, weight, labels = inputs()
    loss, tokens = cross_entropy_and_tokens(hidden, weight, labels, CHUNK)
    factor = torch.ones_like(loss) / TOKENS
    tiles = tokens.tiles()
    assert len(tiles) > 8

    def all_tiles() -> None:
        for begin, end in tiles:
            tokens.weight_gradient(begin, end, factor)

    with torch.no_grad():
        assert peak_of(all_tiles) <= TILE_BYTES + SMALL


def test_the_loss_takes_a_chunk_or_its_gradients_and_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "TILE_BYTES", TILE_BYTES)
    hidden, weight, labels = inputs()

    def forward_and_backward() -> None:
        loss = chunked_cross_entropy(hidden, weight, labels, CHUNK)
        torch.autograd.grad(loss / TOKENS, (hidden, weight))

    logits = 6 * CHUNK * VOCABULARY  # float32 and bfloat16
    states = 4 * 2 * TOKENS * WIDTH + 4 * CHUNK * WIDTH  # those with loss, their gradient, and that of all; a product
    assert peak_of(forward_and_backward) <= states + max(logits, weight.nbytes + TILE_BYTES) + SMALL
