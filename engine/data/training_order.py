"""The order in which a run takes its samples, and what part of that order would be padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.data.feeding.sampler import EpochSampler
from engine.data.feeding.shares import shares_of
from engine.data.prepare import PreparedData

if TYPE_CHECKING:
    from engine.config.schema import Config


def make_sampler(config: Config, data: PreparedData, *, packs: bool) -> EpochSampler:
    """The order of the training samples, in packs of `data.max_seq_length` tokens if wanted."""
    return EpochSampler(
        data.train.lengths.tolist(),
        config.train.per_device_batch_size * config.train.gradient_accumulation_steps,
        config.data.seed,
        shares=shares_of(data.train.rows.tolist(), data.spans),
        pack_length=config.data.max_seq_length if packs else None,
    )


def padding_share(lengths: Sequence[int], batch_size: int) -> float:
    """The part of the slots that is padding when samples of these lengths are batched in this order, 0 to 1."""
    batches = [lengths[begin : begin + batch_size] for begin in range(0, len(lengths), batch_size)]
    return 1 - sum(lengths) / sum(max(batch) * len(batch) for batch in batches)
