"""The tokens of a packed batch laid out anew for a layer that carries a state from token to token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.data.feeding.batches import Packs, Slots
from engine.to_device import to_device

Forward = Callable[..., Any]

_ALIKE = 64
"""Documents of as many stretches of this length run together; the delta rule in torch fills up to it anyway."""
_VARLEN_KEYS = (
    "cu_seq_lens_q",
    "cu_seq_lens_k",
    "cu_seq_lens_cpu",
    "document_places",
    "max_length_q",
    "max_length_k",
    "seq_idx",
)
"""What tells kernels of documents in the old layout, and would mislead them in the new one."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """D new lines of L tokens: for each place the token of the batch that stands there, B x S where none does."""

    tokens: Tensor  # [D, L] int64, indices into the B x S tokens of the batch


@dataclass(frozen=True, slots=True, eq=False)
class Regrouped:
    """A batch [B, S] in one or several groups of new lines, and the way back.

    `back` [B, S]: for each token its place in the new lines, all groups one after the other, or the place behind the
    last one for padding.
    """

    shape: tuple[int, int]
    groups: tuple[Lines, ...]
    back: Tensor

    def run(self, forward: Forward, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What `forward` makes of the new lines, brought back to [B, S]; padding gets zeros."""
        kept = {name: value for name, value in kwargs.items() if name not in _VARLEN_KEYS}
        outputs = [
            forward(
                *(self._laid_out(value, lines) for value in args),
                **{name: self._laid_out(value, lines) for name, value in kept.items()},
            )
            for lines in self.groups
        ]
        return self._brought_back(outputs)

    def _laid_out(self, value: Any, lines: Lines) -> Any:
        """Tensors [B, S, ...] as [D, L, ...], also within tuples; anything else as it is."""
        if isinstance(value, tuple):
            return tuple(self._laid_out(part, lines) for part in value)
        if isinstance(value, Tensor) and tuple(value.shape[:2]) == self.shape:
            return _pick(value.flatten(0, 1), lines.tokens)
        return value

    def _brought_back(self, outputs: Sequence[Any]) -> Any:
        """The outputs of all groups as one [B, S, ...]; tuples part by part, None for what is no value per token."""
        if isinstance(outputs[0], tuple):
            return tuple(self._brought_back(parts) for parts in zip(*outputs, strict=True))
        for output, lines in zip(outputs, self.groups, strict=True):
            if not isinstance(output, Tensor) or output.shape[:2] != lines.tokens.shape:
                return None
        return _pick(torch.cat([output.flatten(0, 1) for output in outputs]), self.back)


def borders_of(packs: Packs) -> Tensor:
    """Where documents and padding begin over all lines, one line after another, and the end: int32 [N + 1]."""
    starts = (packs.position_ids == 0).flatten().nonzero().flatten()
    return torch.cat([starts, torch.tensor([packs.position_ids.numel()])]).to(torch.int32)


def stacked(packs: Packs, device: torch.device) -> Regrouped:
    """Each document in a line of its own, those of like length together: nothing can pass from one to another.

    What stands behind a shorter document in its line comes after it, so a causal layer does not let it in.
    """
    by_length: dict[int, list[Slots]] = defaultdict(list)
    for slots in packs.documents:
        by_length[-(-(slots.stop - slots.start) // _ALIKE)].append(slots)
    return _regrouped(packs, list(by_length.values()), device)


def _regrouped(packs: Packs, groups: Sequence[Sequence[Slots]], device: torch.device) -> Regrouped:
    """Each group of documents in lines as long as its longest one."""
    lines, length = packs.position_ids.shape
    nothing = lines * length
    back = torch.full((nothing,), -1, dtype=torch.int64)
    made, begin = [], 0
    for documents in groups:
        width = max(stop - start for _, start, stop in documents)
        tokens = torch.full((len(documents), width), nothing, dtype=torch.int64)
        for number, (line, start, stop) in enumerate(documents):
            own = torch.arange(line * length + start, line * length + stop)
            tokens[number, : len(own)] = own
            back[own] = begin + number * width + torch.arange(len(own))
        made.append(Lines(to_device(tokens, device)))
        begin += tokens.numel()
    back[back < 0] = begin
    return Regrouped((lines, length), tuple(made), to_device(back.view(lines, length), device))


def _pick(flat: Tensor, index: Tensor) -> Tensor:
    """flat [N, ...], index [P, Q] -> [P, Q, ...]; the index N takes zeros."""
    with_nothing = torch.cat([flat, flat.new_zeros(1, *flat.shape[1:])])
    return with_nothing.index_select(0, index.flatten()).view(*index.shape, *flat.shape[1:])
