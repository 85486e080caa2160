"""A tiled head moves by the gradient that the whole head would have had, and that never exists as a whole."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from engine.backward.cut import AtCut, differentiate_head, forward_to_cut
from engine.backward.norm import GradientNorms
from engine.backward.tiled_head import rows_looked_up_alone, tiled_head_of
from engine.data.feeding.batches import Batch, collate
from engine.data.feeding.samples import Sample
from engine.loss import passes
from engine.model.head import LossHead, loss_head
from tests.loss.test_chunked import shapes_made

from .test_release import SHAPE

VOCABULARY, TILE = 1500, 256
TYPES = [torch.float32, torch.bfloat16]


class Tiles:
    """In the place of an optimizer: keeps the tiles' gradients by the element at which each begins."""

    def __init__(self) -> None:
        self.parts: dict[int, Tensor] = {}
        self.kept: list[Tensor] = []

    def update(self, parameter: Tensor, gradient: Tensor, keep: Tensor | None = None, begin: int = 0) -> None:
        assert keep is not None
        self.parts[begin] = gradient.clone()
        self.kept.append(keep)

    def whole(self) -> Tensor:
        """The gradient [V, H], of tiles that came in order, without gaps."""
        assert list(self.parts) == sorted(self.parts)
        return torch.cat(list(self.parts.values()))


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 256 tokens."""
    monkeypatch.setattr(passes, "TILE_BYTES", 1)


def model_of(dtype: torch.dtype = torch.float32, tied: bool = True, family: str = "llama") -> Any:
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **SHAPE | {"vocab_size": VOCABULARY}, tie_word_embeddings=tied)
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32).train().to(dtype)


def batch(length: int = 12) -> Batch:
    """Tokens that come several times, padding, and tokens without loss."""
    generator = torch.Generator().manual_seed(1)
    lines = torch.randint(3, VOCABULARY, (3, length), generator=generator).to(torch.int32).numpy()
    lines[:, 4:6] = 7
    has_loss = np.arange(length) > 3
    samples = [Sample(row, line[: length - row], has_loss[: length - row]) for row, line in enumerate(lines)]
    return collate(samples, SHAPE["pad_token_id"])


def step_of(model: Any, data: Batch, spoil: float | None = None) -> tuple[Tiles, GradientNorms, AtCut]:
    """The tiled head's step, after the body's backward pass; its gradient at the cut begins with `spoil`."""
    named = list(model.named_parameters())
    tiles, norms = Tiles(), GradientNorms(named)
    tiled = tiled_head_of(model, tiles, norms)  # type: ignore[arg-type]
    assert tiled is not None
    at_cut = cut(model, data, is_tiled=True)
    if spoil is not None:
        at_cut.gradient[0, 0, 0] = spoil
    at_cut.backward()
    assert at_cut.unmade is not None
    tiled.step(at_cut.unmade)
    return tiles, norms, at_cut


def cut(model: Any, data: Batch, *, is_tiled: bool) -> AtCut:
    plain = loss_head(model, chunked=True, chunk_tokens=5)
    head = LossHead(model, 5, plain.softcap, plain.scale, is_tiled=is_tiled)
    return differentiate_head(forward_to_cut(head, data), data.loss_tokens)


def whole_gradients(model: Any, data: Batch) -> dict[str, Tensor]:
    model.zero_grad()
    cut(model, data, is_tiled=False).backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    return gradients


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize(("family", "tied"), [("llama", True), ("llama", False), ("gemma3_text", True)])
def test_the_tiles_are_the_whole_gradient(dtype: torch.dtype, family: str, tied: bool) -> None:
    """Those of bfloat16 weights bit for bit. Gemma's embedding multiplies what it looks up."""
    model, data = model_of(dtype, tied, family), batch()
    expected = whole_gradients(model, data)
    name = "model.embed_tokens.weight" if tied else "lm_head.weight"
    tiles, norms, _ = step_of(model, data)
    found = tiles.whole()
    assert found.dtype == dtype and len(tiles.parts) == -(-VOCABULARY // TILE)
    if dtype == torch.bfloat16:
        assert torch.equal(found, expected[name])
    else:
        torch.testing.assert_close(found, expected[name], rtol=1e-5, atol=1e-8)
        assert (found - expected[name]).norm() < 1e-6 * expected[name].norm()
    assert norms.by_name()[name] == pytest.approx(float(expected[name].double().norm()), rel=1e-5)
    assert all(tiles.kept)
    for other, parameter in model.named_parameters():
        if other != name:
            assert torch.equal(parameter.grad, expected[other]), f"{other} has another gradient"


def test_no_tensor_of_the_weights_size_is_made() -> None:
    model, data = model_of(torch.bfloat16), batch()
    sizes = [int(np.prod(shape)) for shape in shapes_made(lambda: step_of(model, data))]
    assert max(sizes) < VOCABULARY * SHAPE["hidden_size"] / 2
    assert model.model.embed_tokens.weight.grad is None


def test_a_body_whose_gradient_is_not_finite_leaves_the_whole_weight() -> None:
    tiles, norms, _ = step_of(model_of(), batch(), spoil=torch.nan)
    assert not any(tiles.kept)
    assert norms.first_not_finite() is not None


def test_it_repeats_bit_for_bit_and_leaves_the_embedding_as_it_was() -> None:
    model = model_of(torch.bfloat16)
    embedding = model.get_input_embeddings()
    before = embedding.sparse, embedding.padding_idx
    first, again = (step_of(model, batch())[0].whole() for _ in range(2))
    assert torch.equal(first, again)
    with pytest.raises(KeyError), rows_looked_up_alone(model):
        assert embedding.sparse
        raise KeyError
    assert (embedding.sparse, embedding.padding_idx) == before == (False, 0)


def test_a_frozen_head_needs_no_tiles() -> None:
    model = model_of(tied=False)
    model.lm_head.weight.requires_grad_(False)
    assert tiled_head_of(model, Tiles(), GradientNorms(list(model.named_parameters()))) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("tokens", [1, 4096, 16384, 10**6])
def test_tiles_cover_the_vocabulary_within_their_bytes(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    width, vocabulary = 2560, 248_320
    tiles = passes.tiles_of(vocabulary, width, tokens, element_size=2)
    assert tiles[0][0] == 0 and tiles[-1][1] == vocabulary
    assert all(end == begin for (_, end), (begin, _) in pairwise(tiles))
    assert all(begin * width % 256 == 0 for begin, _ in tiles)
    rows = max(end - begin for begin, end in tiles)
    assert rows == passes.TILE_STEP or rows * max(6 * tokens, 2 * tokens + 6 * width) <= passes.TILE_BYTES
