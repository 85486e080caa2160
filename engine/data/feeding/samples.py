"""What training consumes: token ids and where the loss is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.labels import IGNORED_LABEL

TokenIds = NDArray[np.int32]
LossMask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One row, ready to train. input_ids: [S] int32; has_loss: [S] bool, False for the first token."""

    row: int
    input_ids: TokenIds
    has_loss: LossMask

    def __len__(self) -> int:
        return len(self.input_ids)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sample)
            and self.row == other.row
            and np.array_equal(self.input_ids, other.input_ids)
            and np.array_equal(self.has_loss, other.has_loss)
        )

    @property
    def labels(self) -> NDArray[np.int64]:
        """[S] int64 with the indices of `input_ids`, -100 where there is no loss."""
        return np.where(self.has_loss, self.input_ids.astype(np.int64), IGNORED_LABEL)

    @property
    def loss_tokens(self) -> int:
        return int(self.has_loss.sum())


def sample_of(row: int, input_ids: list[int], labels: list[int]) -> Sample:
    """A sample from lists with the same indices; the first token never has loss."""
    has_loss = np.array(labels, dtype=np.int64) != IGNORED_LABEL
    has_loss[:1] = False
    return Sample(row, np.array(input_ids, dtype=np.int32), has_loss)
