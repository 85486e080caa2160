"""A few tokens through the model, forward and backward, to see what its layers compute again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.model.decoder import decoder_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PROBE_TOKENS = 8


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
            hidden = decoder_of(model)(input_ids=ids, use_cache=False).last_hidden_state  # [B, S, H]
            weights = torch.linspace(-1, 1, hidden[0].numel(), device=hidden.device).view_as(hidden[0])  # [S, H]
            [gradient] = torch.autograd.grad((hidden.float() * weights).sum(), leaves[:1])
    finally:
        hook.remove()
    return gradient
