"""Several samples in one line of tokens: which ones go together, and how full the lines are."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Pack = tuple[int, ...]
"""Indices of the samples that share a line of tokens."""


@dataclass(frozen=True, slots=True)
class Fill:
    """How full packs are: `tokens` stand in `slots` of `packs` lines."""

    packs: int
    slots: int
    tokens: int

    @property
    def share(self) -> float:
        """The part of the slots that holds a token, 0 to 1."""
        return self.tokens / self.slots if self.slots else 0.0


def best_fit(lengths: Sequence[int], limit: int) -> list[Pack]:
    """Pack samples of these lengths into lines of `limit` tokens, each whole and in one line.

    Best fit decreasing: from the longest to the shortest, each goes where it leaves the least space. Samples of one
    length keep their order.

    Raises:
        ValueError: a sample is longer than a line.
    """
    packs: list[list[int]] = []
    pack: list[int]
    open_packs: dict[int, list[list[int]]] = {}  # by the space that is left
    spaces: list[int] = []  # the keys of `open_packs`, in order
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        length = lengths[index]
        if length > limit:
            raise ValueError(f"A sample of {length} tokens does not fit into a pack of {limit}.")
        place = bisect_left(spaces, length)
        if place == len(spaces):
            space, pack = limit, []
            packs.append(pack)
        else:
            space = spaces[place]
            pack = open_packs[space].pop()
            if not open_packs[space]:
                del open_packs[space], spaces[place]
        pack.append(index)
        left = space - length
        if left not in open_packs:
            open_packs[left] = []
            insort(spaces, left)
        open_packs[left].append(pack)
    return [tuple(pack) for pack in packs]


def fill_of(packs: Iterable[Pack], lengths: Sequence[int], limit: int) -> Fill:
    """How full lines of `limit` tokens are with these packs of samples."""
    count = tokens = 0
    for pack in packs:
        count += 1
        tokens += sum(lengths[index] for index in pack)
    return Fill(packs=count, slots=count * limit, tokens=tokens)
