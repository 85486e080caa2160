"""The gated delta rule in torch, forward and backward, on any device.

With a state S [K, V] for each head, a decay exp(g), a strength beta, and keys k and queries q of length 1:

    S_t = exp(g_t) S_{t-1} + k_t (beta_t (v_t - exp(g_t) S_{t-1}^T k_t))^T
    o_t = S_t^T q_t / sqrt(K)

(Gated Delta Networks, arXiv 2412.06464.) Computed in chunks: what the tokens of a chunk write, seen from the state
before the chunk, solves a triangular system (the WY form of arXiv 2406.06484), so that only chunks follow one another.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.model.delta_rule.documents import Chunks, borders_of

EPSILON = 1e-6
"""Added to the squared length of queries and keys, as in flash-linear-attention and transformers."""


def forward(
    query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, cu_seqlens: Tensor | None
) -> Tensor:
    """The outputs [B, T, HV, V], computed in float32 (float64 for float64).

    query, key: [B, T, H, K]; value: [B, T, HV, V] with HV a multiple of H; decay (in log space), beta: [B, T, HV].
    """
    chunks = Chunks.of(borders_of(value.shape, cu_seqlens), value.device)
    inside = _Inside.of(_Inputs.of(chunks, query, key, value, decay, beta))
    outputs = torch.empty_like(inside.values)  # [N, HV, C, V]
    for turn, state in inside.states(chunks):
        written = inside.values[turn] - inside.readers[turn] @ state
        outputs[turn] = inside.decayed_query[turn] @ state + inside.attention[turn] @ written
    return chunks.scattered(outputs).to(value.dtype).view(value.shape)


def backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor, cu_seqlens: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value, decay and beta, for the gradient [B, T, HV, V] of the outputs.

    The forward pass is computed once more, so nothing but its inputs had to be kept.
    """
    chunks = Chunks.of(borders_of(value.shape, cu_seqlens), value.device)
    inputs = _Inputs.of(chunks, query, key, value, decay, beta)
    inside = _Inside.of(inputs)
    above = chunks.gathered(gradient.flatten(0, 1).to(inputs.value.dtype))  # [N, HV, C, V]
    of_query, of_key, of_value, of_decay, of_beta = _backward_inside(inputs, inside, _Scan.of(chunks, inside, above))
    return (
        _through_unit_length(chunks.scattered(of_query), query, query.shape[-1] ** -0.5),
        _through_unit_length(chunks.scattered(of_key), key, 1.0),
        chunks.scattered(of_value).to(value.dtype).view(value.shape),
        chunks.scattered(of_decay).to(decay.dtype).view(decay.shape),
        chunks.scattered(of_beta).to(beta.dtype).view(beta.shape),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Inputs:
    """The inputs in chunks, a query and a key for every value head, at least float32."""

    query: Tensor  # [N, HV, C, K], of length 1 / sqrt(K)
    key: Tensor  # [N, HV, C, K], of length 1
    value: Tensor  # [N, HV, C, V]
    decay: Tensor  # [N, HV, C]
    beta: Tensor  # [N, HV, C, 1]

    @classmethod
    def of(cls, chunks: Chunks, query: Tensor, key: Tensor, value: Tensor, decay: Tensor, beta: Tensor) -> _Inputs:
        precise = torch.promote_types(value.dtype, torch.float32)
        group = value.shape[2] // key.shape[2]

        def laid_out(tensor: Tensor) -> Tensor:
            return chunks.gathered(tensor.flatten(0, 1).to(precise))

        def of_unit_length(tensor: Tensor) -> Tensor:
            tensor = laid_out(tensor).repeat_interleave(group, dim=1)
            return tensor * (tensor.square().sum(-1, keepdim=True) + EPSILON).rsqrt()

        return cls(
            of_unit_length(query) * query.shape[-1] ** -0.5,
            of_unit_length(key),
            laid_out(value),
            laid_out(decay),
            laid_out(beta)[..., None],
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Inside:
    """What can be computed in each chunk without the state before it. `d` is the decay since the chunk began."""

    since_begin: Tensor  # [N, HV, C, 1]: exp(d)
    until_end: Tensor  # [N, HV, C, 1]: exp(d of the last token - d)
    system: Tensor  # [N, HV, C, C]: strictly lower, beta k k^T decayed
    attention: Tensor  # [N, HV, C, C]: lower, q k^T decayed
    mutual: Tensor  # [N, HV, C, C]: the decay from one token to a later one, 0 above the diagonal
    values: Tensor  # [N, HV, C, V]: (1 + system)^-1 beta v, what is written over an empty state
    readers: Tensor  # [N, HV, C, K]: (1 + system)^-1 beta k exp(d), what of the state is taken from that
    decayed_query: Tensor  # [N, HV, C, K]
    decayed_key: Tensor  # [N, HV, C, K]
    whole: Tensor  # [N, HV, 1, 1]: the decay over the whole chunk

    @classmethod
    def of(cls, inputs: _Inputs) -> _Inside:
        total = inputs.decay.cumsum(-1)[..., None]  # [N, HV, C, 1]
        since_begin, until_end = total.exp(), (total[..., -1:, :] - total).exp()
        size = total.shape[-2]
        above = torch.ones(size, size, dtype=torch.bool, device=total.device).triu(1)
        mutual = (total - total.transpose(-1, -2)).masked_fill(above, -torch.inf).exp()
        strong_key = inputs.beta * inputs.key
        system = (strong_key @ inputs.key.transpose(-1, -2) * mutual).tril(-1)
        width = inputs.value.shape[-1]
        right = torch.cat([inputs.beta * inputs.value, strong_key * since_begin], -1)  # [N, HV, C, V + K]
        solved = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
        return cls(
            since_begin,
            until_end,
            system,
            inputs.query @ inputs.key.transpose(-1, -2) * mutual,
            mutual,
            solved[..., :width],
            solved[..., width:],
            inputs.query * since_begin,
            inputs.key * until_end,
            since_begin[..., -1:, :],
        )

    def states(self, chunks: Chunks) -> list[tuple[Tensor, Tensor]]:
        """For each turn its chunks [D] and the states [D, HV, K, V] before them."""
        heads, keys, values = self.whole.shape[1], self.readers.shape[-1], self.values.shape[-1]
        state = self.values.new_zeros(len(chunks.turns[0]), heads, keys, values)
        found = []
        for turn in chunks.turns:
            state = state[: len(turn)]
            found.append((turn, state))
            written = self.values[turn] - self.readers[turn] @ state
            state = self.whole[turn] * state + self.decayed_key[turn].transpose(-1, -2) @ written
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Scan:
    """The gradients of what goes into the steps from chunk to chunk."""

    attention: Tensor  # [N, HV, C, C]
    values: Tensor  # [N, HV, C, V]
    readers: Tensor  # [N, HV, C, K]
    decayed_query: Tensor  # [N, HV, C, K]
    decayed_key: Tensor  # [N, HV, C, K]
    whole: Tensor  # [N, HV, 1, 1]

    @classmethod
    def of(cls, chunks: Chunks, inside: _Inside, above: Tensor) -> _Scan:
        """above: the gradient of the outputs, [N, HV, C, V]."""
        found = cls(
            *map(
                torch.empty_like,
                (
                    inside.attention,
                    inside.values,
                    inside.readers,
                    inside.decayed_query,
                    inside.decayed_key,
                    inside.whole,
                ),
            )
        )
        later = above.new_zeros(0, *inside.readers.shape[1:2], inside.readers.shape[-1], above.shape[-1])
        for turn, state in reversed(inside.states(chunks)):
            ended = later.new_zeros(len(turn) - len(later), *later.shape[1:])
            later = torch.cat([later, ended])  # [D, HV, K, V]: the gradient of the states behind these chunks
            output, state_t = above[turn], state.transpose(-1, -2)
            written = inside.values[turn] - inside.readers[turn] @ state
            of_written = inside.attention[turn].transpose(-1, -2) @ output + inside.decayed_key[turn] @ later
            found.attention[turn] = output @ written.transpose(-1, -2)
            found.values[turn] = of_written
            found.readers[turn] = -of_written @ state_t
            found.decayed_query[turn] = output @ state_t
            found.decayed_key[turn] = written @ later.transpose(-1, -2)
            found.whole[turn] = (later * state).sum((-2, -1), keepdim=True)
            later = (
                inside.whole[turn] * later
                + inside.decayed_query[turn].transpose(-1, -2) @ output
                - inside.readers[turn].transpose(-1, -2) @ of_written
            )
        return found


def _backward_inside(inputs: _Inputs, inside: _Inside, scan: _Scan) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of query, key, value, decay and beta in chunks, from those of what is computed inside them."""
    width = inputs.value.shape[-1]
    above = torch.cat([scan.values, scan.readers], -1)
    system_t = inside.system.transpose(-1, -2)
    right = torch.linalg.solve_triangular(system_t, above, upper=True, unitriangular=True)  # [N, HV, C, V + K]
    of_strong_value, of_decayed_strong_key = right[..., :width], right[..., width:]
    of_system = -(right @ torch.cat([inside.values, inside.readers], -1).transpose(-1, -2)).tril(-1)

    strong_key = inputs.beta * inputs.key
    of_products, of_scores = of_system * inside.mutual, scan.attention * inside.mutual
    of_strong_key = of_products @ inputs.key + of_decayed_strong_key * inside.since_begin
    of_query = of_scores @ inputs.key + scan.decayed_query * inside.since_begin
    of_key = (
        of_products.transpose(-1, -2) @ strong_key
        + of_scores.transpose(-1, -2) @ inputs.query
        + scan.decayed_key * inside.until_end
        + inputs.beta * of_strong_key
    )
    of_beta = (of_strong_value * inputs.value).sum(-1) + (of_strong_key * inputs.key).sum(-1)

    mutual = of_system * inside.system + scan.attention * inside.attention
    to_end = (scan.decayed_key * inside.decayed_key).sum(-1)  # [N, HV, C]
    of_total = (
        mutual.sum(-1)
        - mutual.sum(-2)
        + (of_decayed_strong_key * strong_key * inside.since_begin).sum(-1)
        + (scan.decayed_query * inside.decayed_query).sum(-1)
        - to_end
    )
    of_total[..., -1] += to_end.sum(-1) + (scan.whole * inside.whole)[..., 0, 0]
    of_decay = of_total.flip(-1).cumsum(-1).flip(-1)
    return of_query, of_key, inputs.beta * of_strong_value, of_decay, of_beta


def _through_unit_length(gradient: Tensor, raw: Tensor, scale: float) -> Tensor:
    """The gradient of `raw` [B, T, H, K], given that [B x T, HV, K] of `raw` brought to length `scale`."""
    heads: Tensor = gradient.view(*raw.shape[:-1], -1, raw.shape[-1]).sum(3) * scale
    wide = raw.to(heads.dtype)
    inverse = (wide.square().sum(-1, keepdim=True) + EPSILON).rsqrt()
    along = (heads * wide).sum(-1, keepdim=True) * inverse.square()
    return ((heads - wide * along) * inverse).to(raw.dtype)
