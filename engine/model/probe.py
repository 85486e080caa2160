"""A few tokens through a loaded model: how what was put into it is proven before the run begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.model.decoder import decoder_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PROBE_TOKENS = 8


def random_ids(model: PreTrainedModel, shape: Sequence[int], seed: int) -> Tensor:
    """Tokens [B, S] = `shape` on the model's device, the same for the same seed on all devices."""
    embeddings = model.get_input_embeddings()
    ids = torch.randint(embeddings.num_embeddings, tuple(shape), generator=torch.Generator().manual_seed(seed))
    return ids.to(embeddings.weight.device)


def last_hidden(model: PreTrainedModel, ids: Tensor, **told: Any) -> Tensor:
    """The last hidden vectors of `ids` [B, S], float32 [B, S, H]; `told` is what the model has to know besides."""
    hidden: Tensor = decoder_of(model)(input_ids=ids, use_cache=False, **told).last_hidden_state
    return hidden.float()


def gradient_at_embedding(model: PreTrainedModel, ids: Tensor | None = None) -> Tensor:
    """The gradient [B, S, H] of a sum over the last hidden state at the embedding of `ids` [B, S], or of some tokens.

    No gradient of a weight is made, no hook on one fires, and the random generators stand afterwards as before.
    """
    leaves: list[Tensor] = []

    def cut(_module: Any, _args: Any, output: Tensor) -> Tensor:
        leaves.append(output.detach().requires_grad_())
        return leaves[-1]

    embedding = model.get_input_embeddings()
    if ids is None:
        ids = torch.arange(1, PROBE_TOKENS + 1, device=embedding.weight.device)[None]  # [1, S]
    hook = embedding.register_forward_hook(cut)
    try:
        with torch.random.fork_rng(), torch.enable_grad():
            torch.manual_seed(0)
            hidden = last_hidden(model, ids)  # [B, S, H]
            weights = torch.linspace(-1, 1, hidden[0].numel(), device=hidden.device).view_as(hidden[0])  # [S, H]
            [gradient] = torch.autograd.grad((hidden * weights).sum(), leaves[:1])
    finally:
        hook.remove()
    return gradient


def difference(found: Tensor, wanted: Tensor) -> float:
    """How far the one is from the other, as a share of the length of what is wanted; both of one shape."""
    return float((found - wanted).float().norm() / wanted.float().norm())


@contextmanager
def in_mode(model: PreTrainedModel, *, training: bool) -> Iterator[None]:
    """Within, the model trains, or evaluates; then it is as it was."""
    was_training = model.training
    model.train(training)
    try:
        yield
    finally:
        model.train(was_training)
