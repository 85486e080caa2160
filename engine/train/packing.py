"""Packs whose documents the model keeps apart, or else none, and what is told of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.config import Config
from engine.data import EpochSampler, PreparedData
from engine.data.training_order import make_sampler, padding_share
from engine.events import Alert
from engine.model.packed.isolation import Isolation
from engine.model.packed.proof import NotIsolatedError, isolate
from engine.session.session import Session

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PACKING_OFF = "PACKING_OFF"


def keep_packs_apart(
    model: PreTrainedModel, sampler: EpochSampler, config: Config, data: PreparedData, session: Session
) -> tuple[EpochSampler, Isolation | None]:
    """The sampler to train with, and what keeps the documents of its packs apart.

    Packs that this model would not keep apart are never trained on: then the sampler is one without packs, and an alert
    says why and what it costs.
    """
    fill = sampler.fill()
    if fill is None:
        return sampler, None
    try:
        isolation = isolate(model)
    except NotIsolatedError as error:
        unpacked = make_sampler(config, data, packs=False)
        meaning = _off(str(error), unpacked, fill.packs, config.train.per_device_batch_size)
        session.emit(Alert(id="packing-off", state="open", code=PACKING_OFF, severity="warning", meaning=meaning))
        session.say(f"warning: {meaning}")
        return unpacked, None
    session.say(
        f"packing: {sampler.draws:,} chats in {fill.packs:,} packs of {sampler.pack_length:,} tokens, {fill.share:.1%} "
        f"full; kept apart by {isolation.way.how}"
    )
    return sampler, isolation


def _off(reason: str, unpacked: EpochSampler, packs: int, batch_size: int) -> str:
    padding = padding_share([unpacked.lengths[index] for (index,) in unpacked.order], batch_size)
    per_pack = unpacked.draws / packs
    return (
        f"data.packing is asked for but off: {reason}. Each chat has a line of its own instead, so a step trains "
        f"{unpacked.batch_size:,} chats where packs would hold about {per_pack * unpacked.batch_size:,.0f}, and "
        f"{padding:.0%} of what it computes is padding."
    )
