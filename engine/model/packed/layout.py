"""The tokens of a packed batch laid out anew for a layer that carries a state from token to token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from engine.data.feeding.batches import Packs, Slots

Forward = Callable[..., Any]

_ALIKE = 64
"""Documents of as many stretches of this length run together; the delta rule in torch fills up to it anyway."""
_VARLEN_KEYS = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k", "seq_idx")
"""What tells kernels of documents in the old layout, and would mislead them in the new one."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """D new lines of L tokens: for each place the token of the batch that stands there, B x S where none does."""

    tokens: Tensor  # [D, L] int64, indices into the B x S tokens of the batch
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the layer is told besides."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
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
                **lines.options,
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


def stacked(packs: Packs, device: torch.device) -> Layout:
    """Each document in a line of its own, those of like length together: nothing can pass from one to another.

    What stands behind a shorter document in its line comes after it, so a causal layer does not let it in.
    """
    by_length: dict[int, list[Slots]] = defaultdict(list)
    for slots in packs.documents:
        by_length[-(-(slots.stop - slots.start) // _ALIKE)].append(slots)
    groups = []
    for documents in by_length.values():
        longest = max(stop - start for _, start, stop in documents)
        groups.append([(slots, longest) for slots in documents])
    return _layout(packs, [(group, group[0][1], {}) for group in groups], device)


def spread(packs: Packs, device: torch.device, gap: int) -> Layout:
    """All documents in one line, behind each of them a gap of `gap` zeros, for kernels that take `cu_seqlens`.

    A state starts anew at each document by `cu_seqlens`. A convolution does not know of them: the zeros keep its window
    from reaching back into the document before, and are to it what stands before the first token of a line.
    """
    lengths = [slots.stop - slots.start + gap for slots in packs.documents]
    ends = torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32).to(device)
    documents = list(zip(packs.documents, lengths, strict=True))
    return _layout(packs, [(documents, sum(lengths), {"cu_seq_lens_q": ends})], device)


def _layout(
    packs: Packs, groups: Sequence[tuple[Sequence[tuple[Slots, int]], int, dict[str, Any]]], device: torch.device
) -> Layout:
    """Groups of documents, each with the room that it takes, in lines of so many tokens."""
    lines, length = packs.position_ids.shape
    nothing = lines * length
    back = torch.full((nothing,), -1, dtype=torch.int64)
    made, begin = [], 0
    for documents, width, options in groups:
        tokens = torch.full((sum(room for _, room in documents),), nothing, dtype=torch.int64)
        place = 0
        for (line, start, stop), room in documents:
            own = torch.arange(line * length + start, line * length + stop)
            tokens[place : place + len(own)] = own
            back[own] = torch.arange(begin + place, begin + place + len(own))
            place += room
        made.append(Lines(tokens.view(-1, width).to(device), options))
        begin += len(tokens)
    back[back < 0] = begin
    return Layout((lines, length), tuple(made), back.view(lines, length).to(device))


def _pick(flat: Tensor, index: Tensor) -> Tensor:
    """flat [N, ...], index [P, Q] -> [P, Q, ...]; the index N takes zeros."""
    with_nothing = torch.cat([flat, flat.new_zeros(1, *flat.shape[1:])])
    return with_nothing.index_select(0, index.flatten()).view(*index.shape, *flat.shape[1:])
