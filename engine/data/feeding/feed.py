"""The batches of each step in the sampler's order, prepared when they are due or ahead of that."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from engine.data.feeding.batches import Batch
from engine.data.feeding.sampler import EpochSampler
from engine.data.feeding.samples import Sample

Lines = Sequence[Sequence[Sample]]
"""For each line of a batch the samples that share it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What one optimizer step trains on."""

    batches: tuple[Batch, ...]
    """Its micro-batches, of `micro_batch` lines each; the last may have fewer."""
    epoch: float
    """Epochs that are over when it is trained."""
    longest: int
    """Tokens of its longest line."""
    sampler: dict[str, Any]
    """Where the sampler stood when all of it, and nothing after it, had been drawn."""


class BatchFeed:
    """Hands out the batches of one step after another.

    `collate` makes a batch of lines. With `ahead` steps above 0 a thread prepares so many while the model trains. Order
    and content are the same with and without; what is prepared and not handed out is no part of `state_dict`, so that
    a resumed run draws it again.
    """

    def __init__(
        self,
        sampler: EpochSampler,
        samples: Sequence[Sample],
        collate: Callable[[Lines], Batch],
        micro_batch: int,
        ahead: int = 0,
    ) -> None:
        assert micro_batch > 0 and ahead >= 0, (micro_batch, ahead)
        self._sampler = sampler
        self._samples = samples
        self._collate = collate
        self._micro_batch = micro_batch
        self._ahead = ahead
        self._thread: ThreadPoolExecutor | None = None
        self._coming: deque[Future[Prepared]] = deque()
        self._state: dict[str, Any] | None = None

    def next(self) -> Prepared:
        """The batches of the next step. What went wrong in the thread is raised here."""
        prepared = self._next_ahead() if self._ahead else self._prepare()
        self._state = prepared.sampler
        return prepared

    def state_dict(self) -> dict[str, Any]:
        """Where the sampler stood after what was handed out last; plain numbers."""
        return self._sampler.state_dict() if self._state is None else self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on there; before anything is handed out. Raises ValueError for a state of other data."""
        assert self._thread is None, "what is on its way was drawn elsewhere"
        self._sampler.load_state_dict(state)
        self._state = None

    def close(self) -> None:
        """End the thread, if there is one. It finishes the batch that it is at."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)

    def _next_ahead(self) -> Prepared:
        if self._thread is None:  # one thread, so that the sampler is drawn from in order
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches")
        while len(self._coming) <= self._ahead:
            self._coming.append(self._thread.submit(self._prepare))
        return self._coming.popleft().result()

    def _prepare(self) -> Prepared:
        packs, epoch = self._sampler.next_batch()
        lines = [[self._samples[index] for index in pack] for pack in packs]
        batches = tuple(
            self._collate(lines[begin : begin + self._micro_batch]) for begin in range(0, len(lines), self._micro_batch)
        )
        longest = max(sum(map(len, line)) for line in lines)
        return Prepared(batches, epoch, longest, self._sampler.state_dict())
