"""The order in which rows are trained."""

from __future__ import annotations

import random
from typing import Any


class EpochSampler:
    """Deals row indices in batches; every row exactly once an epoch, in an order that each epoch draws anew.

    The order depends on (seed, epoch) alone. The last batch of an epoch holds what is left, so it may be smaller.
    `batch_size` is the number of rows of an optimizer step (micro-batch times accumulation).

    Raises:
        ValueError: there is no row, or the batch size is not positive.
    """

    def __init__(self, count: int, batch_size: int, seed: int) -> None:
        if count < 1 or batch_size < 1:
            raise ValueError(f"A sampler needs rows and a batch size of at least 1, found {count} and {batch_size}.")
        self.count = count
        self.batch_size = batch_size
        self.seed = seed
        self._epoch = 0
        self._position = 0
        self._order = self._draw_order()

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch, a smaller last one included."""
        return -(-self.count // self.batch_size)

    def next_batch(self) -> tuple[list[int], float]:
        """The next indices, and how many epochs will have passed once they are trained."""
        indices = self._order[self._position : self._position + self.batch_size]
        self._position += len(indices)
        epoch = self._epoch + self._position / self.count
        if self._position == self.count:
            self._epoch, self._position = self._epoch + 1, 0
            self._order = self._draw_order()
        return indices, epoch

    def state_dict(self) -> dict[str, Any]:
        """Where the sampler stands; plain numbers."""
        return {"count": self.count, "seed": self.seed, "epoch": self._epoch, "position": self._position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue exactly there. The batch size may have changed since, the rows and the seed may not.

        Raises:
            ValueError: the state belongs to another number of rows or another seed.
        """
        for name, own in (("count", self.count), ("seed", self.seed)):
            if state[name] != own:
                raise ValueError(
                    f"The checkpoint's sampler has {name} {state[name]}, this run has {own}; "
                    "resume with the data and data.seed that the run was started with."
                )
        self._epoch, self._position = int(state["epoch"]), int(state["position"])
        self._order = self._draw_order()

    def _draw_order(self) -> list[int]:
        order = list(range(self.count))
        random.Random(f"{self.seed}:{self._epoch}").shuffle(order)
        return order
