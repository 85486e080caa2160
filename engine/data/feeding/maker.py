"""What a run's batches are like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.data.feeding.batches import Batch, collate, collate_packs
from engine.data.feeding.fill_up import filled_up
from engine.data.feeding.samples import Sample


@dataclass(frozen=True, slots=True)
class BatchMaker:
    """Makes batches of lines of samples in the one form that a run takes."""

    pad_id: int
    pack_length: int | None
    """The most tokens of a pack; None where each sample has a line of its own."""
    lines: int | None = None
    """So many lines in every batch, and packs filled up to their length, for compiled layers; None as it comes."""
    pins: bool = False
    """Whether batches lie in page-locked memory, for a GPU."""

    def __call__(self, lines: Sequence[Sequence[Sample]]) -> Batch:
        """A batch of packs, or without packing of the one sample in each line."""
        if self.pack_length is None:
            batch = collate([sample for line in lines for sample in line], self.pad_id)
        else:
            batch = collate_packs(lines, self.pad_id, None if self.lines is None else self.pack_length)
        if self.lines is not None:
            batch = filled_up(batch, self.lines, self.pad_id)
        return batch.pinned() if self.pins else batch
