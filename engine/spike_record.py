"""`spikes/step-N.json`: the batch behind a skipped step, token by token, so that its cause can be looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from engine.data.feeding.batches import Batch
from engine.events import Step
from engine.events.codec import to_strict_json
from engine.labels import IGNORED_LABEL
from engine.model.head import LossHead
from engine.session.session import Session


def write_spike_record(session: Session, step: Step, batches: Sequence[Batch], head: LossHead) -> None:
    """Write the rows of the step with their tokens, their mask and the loss of each token after the skipped update.

    A disk without space loses the record, never the run.
    """
    run = session.run
    record = {
        "v": 1,
        "step": step.step,
        "loss": step.loss,
        "grad_norm": step.grad_norm,
        "rows": [row for batch in batches for row in _rows(batch, head)],
    }
    try:
        run.spikes.mkdir(exist_ok=True)
        run.spike(step.step).write_text(json.dumps(to_strict_json(record), allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        session.say(f"the batch of step {step.step} could not be written to {run.spikes}: {error}")


def _rows(batch: Batch, head: LossHead) -> list[dict[str, Any]]:
    losses = head.token_losses(batch.input_ids, batch.labels).float().cpu()
    rows = []
    for index, row in enumerate(batch.rows):
        length = int(batch.attention_mask[index].sum())
        rows.append(
            {
                "row": row,
                "input_ids": batch.input_ids[index, :length].tolist(),
                "has_loss": (batch.labels[index, :length] != IGNORED_LABEL).tolist(),
                "losses": [round(value, 5) for value in losses[index, :length].tolist()],
            }
        )
    return rows
