"""A head whose weight never has a whole gradient: it is made and used up tile by tile of the vocabulary.

In a model of 4 billion weights the gradient of a head of 250,000 tokens is the largest tensor of a step with gradient
release. All that it depends on is small: the hidden states of the tokens with loss and one number for each of them.
So the pass through the head makes the losses and the gradient of the hidden states alone. Once the body has gone
backward, the gradient of each tile is made from these, the part that a tied weight has as the embedding is added, and
the optimizer moves the tile; logits of a tile are computed from weights that have not moved, as no tile is met twice.
The price is that the logits are computed a second time: 8 V H floating-point operations a token in place of 6.

The embedding of a tied weight hands autograd the gradients of the rows that it looked up, [B S, H], not [V, H].
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from engine.backward.norm import GradientNorms, norm_of
from engine.loss import HeadTokens
from engine.optim.tensor_optimizer import TensorOptimizer
from engine.to_device import to_device

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class UnmadeGradient:
    """All that the gradient of a head's weight can be made from."""

    tokens: HeadTokens
    factor: Tensor
    """By which the gradient of the summed loss is multiplied, a scalar on the device."""
    input_ids: Tensor
    """[B, S] on the host, of the same micro-batch."""


@dataclass(frozen=True, slots=True)
class TiledHead:
    """Moves the weight of a head tile by tile; `embedding` is there where it shares that weight."""

    weight: Tensor
    embedding: nn.Embedding | None
    optimizer: TensorOptimizer
    norms: GradientNorms

    @torch.no_grad()
    def step(self, gradient: UnmadeGradient, *, moves: bool = True) -> None:
        """Make, measure and use up the gradient of each tile, after the body's backward pass. Waits for nothing.

        Without `moves` the weight stays as it is. It also stays where the gradient is not finite: all of it if that is
        the embedding's part, otherwise the tile; the norm tells of it.
        """
        looked_up = self._take_looked_up(gradient.input_ids)
        for begin, end in gradient.tokens.tiles():
            tile = gradient.tokens.weight_gradient(begin, end, gradient.factor)  # [n, H]
            if looked_up is not None:
                looked_up.add_to(tile, begin)
            self.norms.measure_part(self.weight, tile)
            is_finite = self.norms.is_finite(self.weight)
            if moves:
                keep = is_finite if looked_up is None else is_finite & looked_up.is_finite
                self.optimizer.update(self.weight, tile, keep=keep, begin=begin * self.weight.shape[1])
            del tile  # before the next one is made

    def _take_looked_up(self, input_ids: Tensor) -> _LookedUp | None:
        """The embedding's part, which leaves the weight without a gradient; None where there is none."""
        if self.embedding is None:
            return None
        sparse, self.weight.grad = self.weight.grad, None
        assert sparse is not None and sparse.is_sparse, "the embedding was not told to hand out rows alone"
        return _LookedUp.of(sparse._values(), input_ids, self.embedding.padding_idx)


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """The gradient of an embedding: of the rows that were looked up."""

    ids_on_host: Tensor
    """[U], each token once, in ascending order."""
    ids: Tensor
    """The same on the device."""
    rows: Tensor
    """[U, H]"""
    is_finite: Tensor
    """[] bool on the device."""

    @staticmethod
    def of(values: Tensor, input_ids: Tensor, padding_id: int | None) -> _LookedUp:
        """From the gradients of each place, values [B S, H]; the embedding trains no row for `padding_id`.

        They are added up as those of a dense embedding are: in the same order in each run.
        """
        ids, places = torch.unique(input_ids.flatten(), return_inverse=True)
        assert len(places) == len(values), "the embedding was used for something else besides the input"
        rows = torch.ops.aten.embedding_dense_backward(values, to_device(places, values.device), len(ids), -1, False)
        if padding_id is not None:
            first, last = _between(ids, padding_id, padding_id + 1)
            rows[first:last] = 0
        return _LookedUp(ids, to_device(ids, values.device), rows, torch.isfinite(norm_of(rows)))

    def add_to(self, tile: Tensor, begin: int) -> None:
        """Add the rows of the tokens that are in the tile [n, H] of the vocabulary from `begin` on."""
        first, last = _between(self.ids_on_host, begin, begin + len(tile))
        if first < last:
            places = self.ids[first:last] - begin
            tile.index_copy_(0, places, tile.index_select(0, places).add_(self.rows[first:last]))


def _between(ascending: Tensor, low: int, high: int) -> tuple[int, int]:
    """The places of the numbers from `low` up to, not including, `high`."""
    first, last = torch.searchsorted(ascending, torch.tensor([low, high])).tolist()
    return first, last


def tiled_head_of(model: PreTrainedModel, optimizer: TensorOptimizer, norms: GradientNorms) -> TiledHead | None:
    """The tiled head of this model; None where the head is not trained."""
    head: Any = model.get_output_embeddings()
    if not head.weight.requires_grad:
        return None
    return TiledHead(head.weight, _tied_embedding(model), optimizer, norms)


@contextmanager
def rows_looked_up_alone(model: PreTrainedModel) -> Iterator[None]:
    """Within, the forward pass of an embedding tied to the head prepares a gradient of the rows that it looks up."""
    embedding = _tied_embedding(model)
    if embedding is None:
        yield
        return
    before = embedding.sparse, embedding.padding_idx
    # A sparse gradient without the padding would be made by waiting for the device: `_LookedUp` leaves it out.
    embedding.sparse, embedding.padding_idx = True, None
    try:
        yield
    finally:
        embedding.sparse, embedding.padding_idx = before


def _tied_embedding(model: PreTrainedModel) -> nn.Embedding | None:
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    if embedding.weight is not head.weight:
        return None
    assert isinstance(embedding, nn.Embedding), type(embedding)
    return embedding
