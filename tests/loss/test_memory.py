"""The bytes that a head's passes hold at once, counted; tests/gpu/test_head_memory.py reads them from a GPU."""

import pytest
import torch

from engine.loss import chunked_cross_entropy, cross_entropy_and_tokens, passes
from tests.train.live_bytes import LiveBytes

TOKENS, WIDTH, VOCABULARY, CHUNK = 200, 16, 4096, 20
FLOAT32 = 4
SMALL = 2**14


def test_a_tile_takes_no_more_than_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "TILE_BYTES", 2**19)
    hidden, weight = torch.randn(TOKENS, WIDTH, requires_grad=True), torch.randn(VOCABULARY, WIDTH)
    loss, tokens = cross_entropy_and_tokens(hidden, weight, torch.arange(TOKENS), CHUNK)
    tiles = tokens.tiles()
    assert len(tiles) == 8
    with LiveBytes([weight, tokens.hidden, tokens.targets, tokens.log_sums], []) as counting, torch.no_grad():
        for begin, end in tiles:
            tokens.weight_gradient(begin, end, torch.ones_like(loss))
    assert 0 < counting.peak <= passes.TILE_BYTES + SMALL


@pytest.mark.parametrize("is_trained", [True, False])
def test_the_loss_takes_one_chunk_of_logits_beside_its_gradients(is_trained: bool) -> None:
    hidden, weight = torch.randn(TOKENS, WIDTH, requires_grad=True), torch.randn(VOCABULARY, WIDTH)
    weight.requires_grad_(is_trained)
    with LiveBytes([hidden, weight], []) as counting:
        chunked_cross_entropy(hidden, weight, torch.arange(TOKENS), CHUNK).backward()
    states = 4 * hidden.nbytes
    assert counting.peak <= FLOAT32 * CHUNK * VOCABULARY + states + (weight.nbytes if is_trained else 0) + SMALL
