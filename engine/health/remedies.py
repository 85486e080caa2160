"""Remedies that several alerts share."""

from __future__ import annotations

from engine.health.partners import BATCH, CLIPPING, RATE, RELEASE
from engine.health.symptom import ADAMW, LION, Remedy, Settings, times, to

DECAY = "train.weight_decay"
TENTH_OF_THE_RATE = Remedy(RATE, times(0.1), "the usual cause is a learning rate that is too high: divide it by 10")
LION_RATE = Remedy(
    RATE, times(0.2), "Lion moves every weight by the full rate: divide a rate meant for AdamW by 3 to 10", LION
)
LION_DECAY = Remedy(DECAY, times(5.0), "with a smaller rate Lion needs a weight decay larger by the same factor", LION)
ADAMW_RATE = Remedy(RATE, times(0.3), "the learning rate is too high: divide it by 3, or warm up longer", ADAMW)
HALF_THE_RATE_OF_SPIKES = Remedy(
    RATE, times(0.5), "harmless below 1 % of the steps; if there are more, halve the learning rate"
)


def is_unclipped(settings: Settings) -> bool:
    """Whether the run could clip its gradients and does not."""
    return CLIPPING in settings and settings[CLIPPING] is None and settings.get(RELEASE) is False


CLIP = Remedy(CLIPPING, to(1.0), "scales gradients down to a norm of 1", applies=is_unclipped)
CLIMBING = (LION_RATE, LION_DECAY, ADAMW_RATE)
GO_ON = Remedy("train.resume_from", to("auto"), "goes on from the last checkpoint")


def has_rows_to_spare(settings: Settings) -> bool:
    """Whether a batch could have a row less."""
    batch = settings.get(BATCH)
    return batch is None or (isinstance(batch, int) and batch > 1)
