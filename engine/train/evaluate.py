"""The mean loss over held-out data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from engine.data import Sample
from engine.data.feeding.batches import collate
from engine.model.head import LossHead


def evaluate(
    head: LossHead,
    samples: Sequence[Sample],
    batch_size: int,
    pad_id: int,
    progress: Callable[[int, int], None],
    interrupted: Callable[[], bool],
) -> tuple[float, int] | None:
    """Return the mean loss per loss token and the number of loss tokens, or None when interrupted.

    Samples are taken longest first, so that a batch holds rows of like length and memory peaks at once.
    """
    model = head.model
    ordered = sorted(samples, key=len, reverse=True)
    summed = torch.zeros((), dtype=torch.float64, device=head.device)
    tokens = 0
    model.eval()
    try:
        with torch.no_grad():
            for begin in range(0, len(ordered), batch_size):
                if interrupted():
                    return None
                batch = collate(ordered[begin : begin + batch_size], pad_id)
                summed += head.summed_loss(batch.input_ids, batch.labels).double()
                tokens += batch.loss_tokens
                progress(min(begin + batch_size, len(ordered)), len(ordered))
    finally:
        model.train()
    return float(summed) / tokens, tokens
