"""`spikes/step-N.json`: the batch behind a skipped step, token by token, so that its cause can be looked at."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from engine.data.batches import Batch
from engine.events import Step
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
        "loss": _json_number(step.loss),
        "grad_norm": _json_number(step.grad_norm),
        "rows": [row for batch in batches for row in _rows(batch, head)],
    }
    try:
        run.spikes.mkdir(exist_ok=True)
        run.spike(step.step).write_text(json.dumps(record, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        session.say(f"the batch of step {step.step} could not be written to {run.spikes}: {error}")


def _rows(batch: Batch, head: LossHead) -> list[dict[str, Any]]:
    device = head.model.get_input_embeddings().weight.device
    losses = head.token_losses(batch.input_ids.to(device), batch.labels.to(device)).float().cpu()
    rows = []
    for index, row in enumerate(batch.rows):
        length = int(batch.attention_mask[index].sum())
        rows.append(
            {
                "row": row,
                "input_ids": batch.input_ids[index, :length].tolist(),
                "has_loss": (batch.labels[index, :length] != -100).tolist(),
                "losses": [_json_number(round(value, 5)) for value in losses[index, :length].tolist()],
            }
        )
    return rows


def _json_number(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
