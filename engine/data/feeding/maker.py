"""What a run's batches are like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.data.feeding.batches import Batch, collate, collate_packs
from engine.data.feeding.fill_up import filled_up
from engine.data.feeding.samples import Sample

ALIGNED = 8
"""Lines for compiled layers have a multiple of so many slots: the compiler asks whether attention's inputs begin at
places that kernels load 16 bytes from at once, and would compile again for the other answer."""


@dataclass(frozen=True, slots=True)
class BatchMaker:
    """Makes batches of lines of samples in the one form that a run takes."""

    pad_id: int
    pack_length: int | None
    """The most tokens of a pack; None where each sample has a line of its own."""
    lines: int | None = None
    """For compiled layers: so many lines in every batch, packs filled up to their length, other lines to a multiple of
    `ALIGNED`. None as it comes."""
    pins: bool = False
    """Whether batches lie in page-locked memory, for a GPU."""

    def __call__(self, lines: Sequence[Sequence[Sample]]) -> Batch:
        """A batch of packs, or without packing of the one sample in each line."""
        if self.pack_length is None:
            batch = collate([sample for line in lines for sample in line], self.pad_id, self._multiple_of)
        else:
            batch = collate_packs(lines, self.pad_id, None if self.lines is None else self.pack_length)
        if self.lines is not None:
            batch = filled_up(batch, self.lines, self.pad_id)
        return batch.pinned() if self.pins else batch

    @property
    def _multiple_of(self) -> int:
        return 1 if self.lines is None else ALIGNED
