"""`spikes/step-N.json` as it stands in the file: rows, token ids and losses, without any data or tokenizer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class SpikeRecordError(ValueError):
    """The file is no record of a step."""


@dataclass(frozen=True, slots=True)
class LossToken:
    """A token with loss: its place in the row, its id, its loss."""

    place: int
    token_id: int
    loss: float

    @property
    def badness(self) -> float:
        """The loss; one that is no number is the worst there is."""
        return math.inf if math.isnan(self.loss) else self.loss


@dataclass(frozen=True, slots=True)
class SpikeRow:
    """One document of the batch: where it comes from, how many tokens it has, and those with loss, the worst first."""

    row: int
    file: str | None
    line: int | None
    num_tokens: int
    worst: tuple[LossToken, ...]

    @property
    def mean_loss(self) -> float | None:
        """Over its tokens with loss; None without one."""
        return sum(token.loss for token in self.worst) / len(self.worst) if self.worst else None

    @property
    def badness(self) -> float:
        """By which rows are ordered."""
        mean = self.mean_loss
        return -math.inf if mean is None else math.inf if math.isnan(mean) else mean


@dataclass(frozen=True, slots=True)
class SpikeRecord:
    """The batch of a step: its rows, the worst first, and how many others there was no room for."""

    step: int
    loss: float | None
    grad_norm: float | None
    rows: tuple[SpikeRow, ...]
    left_out_rows: int
    left_out_tokens: int


def read_spike_record(path: Path) -> SpikeRecord:
    """The record in the file. Raises SpikeRecordError where there is none that can be read."""
    try:
        return _record(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SpikeRecordError(f"the record cannot be read: {error.strerror or error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise SpikeRecordError(f"{path.name} is no record of a step: {error}") from error


def _record(record: Mapping[str, Any]) -> SpikeRecord:
    rows = sorted((_row(row) for row in record["rows"]), key=lambda row: -row.badness)
    left_out = record["left_out"]
    return SpikeRecord(
        step=int(record["step"]),
        loss=_number(record["loss"]),
        grad_norm=_number(record["grad_norm"]),
        rows=tuple(rows),
        left_out_rows=len(left_out["rows"]),
        left_out_tokens=int(left_out["tokens"]),
    )


def _row(row: Mapping[str, Any]) -> SpikeRow:
    told = enumerate(zip(row["input_ids"], row["has_loss"], row["losses"], strict=True))
    tokens = [
        LossToken(place, int(token_id), number)
        for place, (token_id, has_loss, loss) in told
        if has_loss and (number := _number(loss)) is not None
    ]
    file, line = row["file"], row["line"]
    return SpikeRow(
        row=int(row["row"]),
        file=str(file) if file is not None else None,
        line=int(line) if line is not None else None,
        num_tokens=len(row["input_ids"]),
        worst=tuple(sorted(tokens, key=lambda token: -token.badness)),
    )


def _number(value: object) -> float | None:
    if isinstance(value, str):
        return _NOT_FINITE[value]
    return float(value) if isinstance(value, int | float) else None
