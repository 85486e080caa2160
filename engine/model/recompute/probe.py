"""A few tokens through the model, forward and backward, to see what its layers compute again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.model.decoder import decoder_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_PROBE_TOKENS = 8


def gradient_at_embedding(model: PreTrainedModel, lines: int = 1) -> Tensor:
    """The gradient [lines, S, H] of a sum over the last hidden state at the embedding of a few tokens.

    No gradient of a weight is made, no hook on one fires, and the random generators stand afterwards as before.
    """
    leaves: list[Tensor] = []

    def cut(_module: Any, _args: Any, output: Tensor) -> Tensor:
        leaves.append(output.detach().requires_grad_())
        return leaves[-1]

    embedding = model.get_input_embeddings()
    ids = torch.arange(1, lines * _PROBE_TOKENS + 1, device=embedding.weight.device).view(lines, -1)  # [lines, S]
    ids = ids % embedding.weight.shape[0]
    hook = embedding.register_forward_hook(cut)
    try:
        with torch.random.fork_rng(), torch.enable_grad():
            torch.manual_seed(0)
            hidden = decoder_of(model)(input_ids=ids, use_cache=False).last_hidden_state  # [1, S, H]
            weights = torch.linspace(-1, 1, hidden.numel(), device=hidden.device).view_as(hidden)
            [gradient] = torch.autograd.grad((hidden.float() * weights).sum(), leaves[:1])
    finally:
        hook.remove()
    return gradient
