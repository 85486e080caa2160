"""Causal attention within documents that lie one after another, in torch, forward and backward, on any device.

For a query at i and keys at j <= i of its document, no further back than the window:

    p_ij = exp(scale q_i k_j - lse_i)        o_i = sum over j of p_ij v_j

The whole square of each document's scores is made, in float32: this is the definition, not the quick way.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor


def forward(
    query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor, scale: float, window: int | None
) -> tuple[Tensor, Tensor]:
    """The outputs [T, HQ, E] and the log-sum-exp of each token's scores, float32 [HQ, T].

    query: [T, HQ, E]; key, value: [T, HK, E] with HQ a multiple of HK; cu_seqlens: [N + 1], from 0 to T.
    """
    precise = torch.promote_types(query.dtype, torch.float32)
    outputs = torch.empty_like(query, memory_format=torch.contiguous_format)
    log_sums = query.new_empty(query.shape[1], query.shape[0], dtype=torch.float32)
    for tokens in _documents(cu_seqlens):
        q, k, v = (_by_head(one[tokens], query.shape[1], precise) for one in (query, key, value))
        scores = _scores(q, k, scale, window)
        log_sums[:, tokens] = scores.logsumexp(-1).float()
        outputs[tokens] = (scores.softmax(-1) @ v).transpose(0, 1).to(query.dtype)
    return outputs, log_sums


def backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, cu_seqlens: Tensor, scale: float, window: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, for the gradient [T, HQ, E] of the outputs."""
    precise = torch.promote_types(query.dtype, torch.float32)
    heads = query.shape[1]
    of_query, of_key, of_value = (
        torch.empty_like(one, memory_format=torch.contiguous_format) for one in (query, key, value)
    )
    for tokens in _documents(cu_seqlens):
        above, q, k, v = (_by_head(one[tokens], heads, precise) for one in (gradient, query, key, value))
        shares = _scores(q, k, scale, window).softmax(-1)  # [HQ, L, L]
        of_shares = above @ v.transpose(1, 2)
        of_scores = shares * (of_shares - (shares * of_shares).sum(-1, keepdim=True)) * scale
        of_query[tokens] = (of_scores @ k).transpose(0, 1).to(query.dtype)
        of_key[tokens] = _by_token(of_scores.transpose(1, 2) @ q, key)
        of_value[tokens] = _by_token(shares.transpose(1, 2) @ above, value)
    return of_query, of_key, of_value


def _documents(cu_seqlens: Tensor) -> Iterator[slice]:
    """The tokens of each document that has any."""
    for start, stop in pairwise(cu_seqlens.tolist()):
        if stop > start:
            yield slice(start, stop)


def _by_head(tokens: Tensor, heads: int, dtype: torch.dtype) -> Tensor:
    """[L, H, E] as [HQ, L, E], each head as often as query heads share it."""
    return tokens.transpose(0, 1).repeat_interleave(heads // tokens.shape[1], dim=0).to(dtype)


def _by_token(gradient: Tensor, like: Tensor) -> Tensor:
    """[HQ, L, E] as [L, H, E], summed over the query heads that share a head."""
    length, width = gradient.shape[1:]
    return gradient.view(like.shape[1], -1, length, width).sum(1).transpose(0, 1).to(like.dtype)


def _scores(query: Tensor, key: Tensor, scale: float, window: int | None) -> Tensor:
    """[HQ, L, L], minus infinity where a query does not look."""
    length = query.shape[1]
    unseen = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
    if window is not None:
        unseen |= torch.ones_like(unseen).tril(-window)
    return (query @ key.transpose(1, 2) * scale).masked_fill(unseen, -torch.inf)
