"""The order in which rows are trained."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

from engine.data.feeding.packing import Fill, Pack, best_fit, fill_of
from engine.data.feeding.shares import Share

_NOISE_DIGITS = 9
"""Products of epochs and steps are rounded to so many digits before a part of a step counts as a whole one."""

_BEFORE_PACKING: dict[str, Any] = {"pack_length": None, "packs": None, "weights": []}
"""What a checkpoint means that was saved before there were packs."""


class EpochSampler:
    """Deals packs of sample indices in batches, in an order that each epoch draws anew.

    An epoch holds every sample exactly once, or as often as the `shares` say. Without a `pack_length` each sample is a
    pack of its own; with one, those that fit together share a pack of at most so many tokens. What an epoch holds
    depends on (seed, epoch) alone. Its last batch holds what is left, so it may be smaller. `batch_size` is the number
    of packs of an optimizer step (micro-batch times accumulation); `lengths` are the samples' tokens.

    Raises:
        ValueError: there is no sample to draw, the batch size is not positive, or a sample is longer than a pack.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        seed: int,
        *,
        shares: Sequence[Share] = (),
        pack_length: int | None = None,
    ) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.pack_length = pack_length
        self.shares = tuple(shares) or (Share(0, len(lengths), 1.0),)
        if not lengths or batch_size < 1 or not any(share.weight > 0 for share in self.shares):
            raise ValueError(
                f"A sampler needs rows and a batch size of at least 1, found {len(lengths)} and {batch_size}."
            )
        self._epoch = 0
        self._position = 0
        self._order = self._draw_order(0)
        self._first_packs = len(self._order)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in the first epoch, a smaller last one included; later ones may differ where a share is a part."""
        return self._steps_of(0)

    def steps_in(self, epochs: float) -> int:
        """Batches in so many epochs; a part of a batch is a whole one, and there is one at least."""
        whole = math.floor(epochs)
        part = round((epochs - whole) * self._steps_of(whole), _NOISE_DIGITS)
        steps = whole * self._steps_of(0) if self._is_steady else sum(map(self._steps_of, range(whole)))
        return max(1, steps + math.ceil(part))

    @property
    def order(self) -> Sequence[Pack]:
        """The packs of the current epoch."""
        return self._order

    @property
    def draws(self) -> int:
        """Samples in the current epoch; one that comes twice counts twice."""
        return sum(map(len, self._order))

    def fill(self) -> Fill | None:
        """How full the packs of the current epoch are; None without packing."""
        return None if self.pack_length is None else fill_of(self._order, self.lengths, self.pack_length)

    def next_batch(self) -> tuple[list[Pack], float]:
        """The next packs, and how many epochs will have passed once they are trained."""
        packs = self._order[self._position : self._position + self.batch_size]
        self._position += len(packs)
        epoch = self._epoch + self._position / len(self._order)
        if self._position == len(self._order):
            self._begin_next_epoch()
        return packs, epoch

    def state_dict(self) -> dict[str, Any]:
        """Where the sampler stands; plain numbers."""
        return {**self._identity(), "epoch": self._epoch, "position": self._position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue exactly there. The batch size may have changed since; the rows, their packs and the seed may not.

        Raises:
            ValueError: the state belongs to other rows, weights or packs, or to another seed.
        """
        saved = _BEFORE_PACKING | state
        for name, own in self._identity().items():
            if saved[name] != own:
                raise ValueError(
                    f"The checkpoint's sampler has {name} {saved[name]}, this run has {own}; "
                    "resume with the data, data.packing and data.seed that the run was started with."
                )
        self._epoch, self._position = int(state["epoch"]), int(state["position"])
        self._order = self._draw_order(self._epoch)

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a position to mean the same."""
        return {
            "count": len(self.lengths),
            "seed": self.seed,
            "pack_length": self.pack_length,
            "packs": self._first_packs if self.pack_length else None,
            "weights": [[share.start, share.stop, share.weight] for share in self.shares if share.weight != 1],
        }

    @property
    def _is_steady(self) -> bool:
        return all(share.is_steady for share in self.shares)

    def _steps_of(self, epoch: int) -> int:
        return -(-self._packs_in(epoch) // self.batch_size)

    def _packs_in(self, epoch: int) -> int:
        """Packs of an epoch. Those of the same samples are as many whatever order they are drawn in."""
        if self.pack_length is None:
            return sum(share.count(epoch) for share in self.shares)
        return self._first_packs if self._is_steady else len(self._draw_order(epoch))

    def _begin_next_epoch(self) -> None:
        """Go to the next epoch that holds anything: a small part of a few rows may leave one empty."""
        self._position, self._order = 0, []
        while not self._order:
            self._epoch += 1
            self._order = self._draw_order(self._epoch)

    def _draw_order(self, epoch: int) -> list[Pack]:
        indices = [index for share in self.shares for index in share.draw(epoch, self.seed)]
        generator = random.Random(f"{self.seed}:{epoch}")
        generator.shuffle(indices)
        if self.pack_length is None:
            return [(index,) for index in indices]
        packs = list(_packed(indices, self.lengths, self.pack_length))
        generator.shuffle(packs)
        return packs


def _packed(indices: Sequence[int], lengths: Sequence[int], pack_length: int) -> Iterator[Pack]:
    for pack in best_fit([lengths[index] for index in indices], pack_length):
        yield tuple(indices[place] for place in pack)
