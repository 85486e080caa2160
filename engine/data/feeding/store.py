"""Many samples in a few large arrays: a token costs five bytes, a sample sixteen more."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from engine.data.feeding.samples import LossMask, Sample, TokenIds

Indices = NDArray[np.int64]


class SampleStore(Sequence[Sample]):
    """Samples as views into shared arrays; they may be memory-mapped files.

    input_ids: [T] int32, has_loss: [T] bool, all samples one after another; stops: [N] int64, where each of them ends;
    rows: [N] int64, their row numbers. `picked` ([M] int64) names those samples that this store shows, in its order;
    all where None. Samples are views: whoever changes one changes the store.
    """

    def __init__(
        self,
        input_ids: TokenIds,
        has_loss: LossMask,
        stops: Indices,
        rows: Indices,
        picked: Indices | None = None,
    ) -> None:
        assert len(input_ids) == len(has_loss) == (stops[-1] if len(stops) else 0)
        assert len(stops) == len(rows)
        self.input_ids = input_ids
        self.has_loss = has_loss
        self.stops = stops
        self._rows = rows
        self._picked = np.arange(len(rows)) if picked is None else picked

    def __len__(self) -> int:
        return len(self._picked)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> SampleStore: ...
    def __getitem__(self, index: int | slice) -> Sample | SampleStore:
        if isinstance(index, slice):
            return self._showing(self._picked[index])
        sample = int(self._picked[index])
        start, stop = int(self.stops[sample - 1]) if sample else 0, int(self.stops[sample])
        return Sample(int(self._rows[sample]), self.input_ids[start:stop], self.has_loss[start:stop])

    def __iter__(self) -> Iterator[Sample]:
        return (self[number] for number in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SampleStore) and len(self) == len(other) and all(map(Sample.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]  # as a list

    @property
    def rows(self) -> Indices:
        """[M] int64: the row of each sample."""
        return self._rows[self._picked]

    @property
    def lengths(self) -> Indices:
        """[M] int64: the tokens of each sample."""
        return np.diff(self.stops, prepend=0)[self._picked]

    @property
    def loss_lengths(self) -> Indices:
        """[M] int64: the loss tokens of each sample."""
        before = np.concatenate([[0], np.cumsum(self.has_loss, dtype=np.int64)])
        return np.diff(before[self.stops], prepend=0)[self._picked]

    def pick(self, indices: Sequence[int] | Indices) -> SampleStore:
        """A store of some of these samples, in the order of `indices`; it shares the arrays."""
        return self._showing(self._picked[np.asarray(indices, dtype=np.int64)])

    def _showing(self, picked: Indices) -> SampleStore:
        return SampleStore(self.input_ids, self.has_loss, self.stops, self._rows, picked)


class StoreBuilder:
    """Collects samples one by one."""

    def __init__(self) -> None:
        self._input_ids = bytearray()
        self._has_loss = bytearray()
        self._stops = array("q")
        self._rows = array("q")

    def add(self, row: int, input_ids: TokenIds, has_loss: LossMask) -> None:
        """Append a sample; the arrays are copied."""
        self._input_ids += input_ids.tobytes()
        self._has_loss += has_loss.tobytes()
        self._stops.append(len(self._has_loss))
        self._rows.append(row)

    def build(self) -> SampleStore:
        """All of them; the builder takes no more."""
        return SampleStore(
            np.frombuffer(self._input_ids, dtype=np.int32),
            np.frombuffer(self._has_loss, dtype=np.bool_),
            np.frombuffer(self._stops, dtype=np.int64) if self._stops else np.zeros(0, dtype=np.int64),
            np.frombuffer(self._rows, dtype=np.int64) if self._rows else np.zeros(0, dtype=np.int64),
        )
