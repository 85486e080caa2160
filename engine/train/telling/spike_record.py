"""`spikes/step-N.json`: the batch behind a flagged step, token by token, so that its cause can be looked at."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from engine.data import Place
from engine.data.feeding.batches import Batch
from engine.durable import replace_text
from engine.errors import is_out_of_memory
from engine.events.codec import to_strict_json
from engine.labels import IGNORED_LABEL
from engine.model.head import LossHead
from engine.private import make_dir_like
from engine.rundir import RunDir
from engine.session.session import Session

MOST_TOKENS = 65_536
"""A token takes about 17 bytes in the file, so one file 1.1 MB."""
MOST_RECORDS = 100
"""With files of that size a run keeps 110 MB of them at most."""


@dataclass(frozen=True, slots=True)
class Flagged:
    """A step that was flagged, with what it was flagged for."""

    step: int
    loss: float | None
    grad_norm: float | None


@dataclass(frozen=True, slots=True)
class _Document:
    row: int
    input_ids: list[int]
    has_loss: list[bool]
    losses: list[float]

    @property
    def badness(self) -> float:
        """The mean loss; one that is no number is the worst there is."""
        trained = [loss for loss, has_loss in zip(self.losses, self.has_loss, strict=True) if has_loss]
        mean = sum(trained) / len(trained) if trained else -math.inf
        return math.inf if math.isnan(mean) else mean


def write_spike_record(
    session: Session, flagged: Flagged, batches: Sequence[Batch], head: LossHead, places: Mapping[int, Place]
) -> None:
    """Write the documents of the step with their tokens, their mask and the loss of each token.

    That takes one more forward pass. Of a very wide step the documents with the highest mean loss are kept, and of many
    records the newest. A disk without space, or a GPU without memory for that pass, loses the record, never the run.
    """
    run = session.run
    try:
        documents = [document for batch in batches for document in _documents(batch, head)]
        text = json.dumps(_record(flagged, documents, places), allow_nan=False, separators=(",", ":"))
        make_dir_like(run.spikes, run.path)
        replace_text(run.spike(flagged.step), text + "\n")
        _remove_oldest(run)
    except OSError as error:
        session.say(f"the batch of step {flagged.step} could not be written to {run.spikes}: {error}")
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        session.say(f"the batch of step {flagged.step} was not recorded: there is no memory for one more pass over it")


def _record(flagged: Flagged, documents: Sequence[_Document], places: Mapping[int, Place]) -> Any:
    kept = _worst(documents)
    left_out = [document for number, document in enumerate(documents) if number not in kept]
    return to_strict_json(
        {
            "v": 1,
            "step": flagged.step,
            "loss": flagged.loss,
            "grad_norm": flagged.grad_norm,
            "rows": [_as_json(documents[number], places) for number in sorted(kept)],
            "left_out": {
                "rows": [document.row for document in left_out],
                "tokens": sum(len(document.input_ids) for document in left_out),
            },
        }
    )


def _worst(documents: Sequence[_Document]) -> set[int]:
    """The numbers of the documents with the highest mean loss that there is room for; one at least."""
    kept: set[int] = set()
    room = MOST_TOKENS
    for number in sorted(range(len(documents)), key=lambda number: -documents[number].badness):
        length = len(documents[number].input_ids)
        if not kept or length <= room:
            kept.add(number)
            room -= length
    return kept


def _as_json(document: _Document, places: Mapping[int, Place]) -> dict[str, Any]:
    place = places.get(document.row)
    return {
        "row": document.row,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "input_ids": document.input_ids,
        "has_loss": document.has_loss,
        "losses": [
            round(loss, 5) if has_loss else None
            for loss, has_loss in zip(document.losses, document.has_loss, strict=True)
        ],
    }


def _documents(batch: Batch, head: LossHead) -> Iterator[_Document]:
    devices = [head.device] if head.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # the dropout of later steps is that of a run without the record
        losses = head.token_losses(batch.input_ids, batch.labels, batch.packs).float().cpu()  # [B, S]
    for row, (line, start, stop) in zip(batch.rows, batch.documents, strict=True):
        yield _Document(
            row=row,
            input_ids=batch.input_ids[line, start:stop].tolist(),
            has_loss=(batch.labels[line, start:stop] != IGNORED_LABEL).tolist(),
            losses=losses[line, start:stop].tolist(),
        )


def _remove_oldest(run: RunDir) -> None:
    records = sorted(run.spikes.glob("step-*.json"), key=lambda path: int(path.stem.removeprefix("step-")))
    for path in records[:-MOST_RECORDS]:
        path.unlink(missing_ok=True)
