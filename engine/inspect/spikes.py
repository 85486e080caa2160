"""The recorded batch behind a flagged step (`spikes/step-N.json`): which row, and which tokens of it, were to blame."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.conversation import TokenRow
from engine.data.errors import BadRow
from engine.data.examine import Examined
from engine.errors import UserError
from engine.events.codec import to_strict_json
from engine.inspect.as_json import flags_as_json, segment_as_json
from engine.inspect.opening import Inspection
from engine.inspect.tokens import RowTokens
from engine.rundir import RunDir

_WORST_TOKENS = 10


@dataclass(frozen=True)
class SpikeRow:
    """One recorded row. `index`: its place in the file; `losses`: [S], NaN for a token without loss.

    A loss that is not a number counts as infinite, as there is none worse.
    """

    index: int
    row: int
    file: str | None
    line: int | None
    input_ids: tuple[int, ...]
    losses: NDArray[np.float64] = field(repr=False)

    @cached_property
    def mean_loss(self) -> float | None:
        """The mean over the tokens that have loss; None for a row without any."""
        return None if np.isnan(self.losses).all() else float(np.nanmean(self.losses))

    @property
    def loss_tokens(self) -> int:
        return int((~np.isnan(self.losses)).sum())

    def worst(self, count: int = _WORST_TOKENS) -> list[int]:
        """The tokens with the highest loss, the highest first."""
        filled = np.where(np.isnan(self.losses), -np.inf, self.losses)
        order = np.argsort(-filled, kind="stable")[:count].tolist()
        return [token for token in order if not np.isnan(self.losses[token])]


@dataclass(frozen=True, slots=True)
class Spike:
    """All recorded rows of a step, the highest mean loss first; `left_out` are the numbers of those not recorded."""

    step: int
    loss: Any
    grad_norm: Any
    rows: list[SpikeRow]
    left_out: list[int]

    def at(self, index: int) -> SpikeRow:
        """The row at that place of the file. Raises UserError."""
        for row in self.rows:
            if row.index == index:
                return row
        raise UserError(f"There is no row {index} in the record of step {self.step}; it has {len(self.rows)}.")


def read_spike(run: RunDir, step: int) -> Spike:
    """The record of a step. Raises UserError where there is none, or none that can be read."""
    path = run.spike(step)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        rows = [_row(index, row) for index, row in enumerate(record["rows"])]
        left_out = list(record.get("left_out", {}).get("rows", []))
        spike = Spike(record["step"], record["loss"], record["grad_norm"], rows, left_out)
    except FileNotFoundError:
        raise UserError(_no_such_step(run, step)) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error
    spike.rows.sort(key=lambda row: -(row.mean_loss if row.mean_loss is not None else -np.inf))
    return spike


def _no_such_step(run: RunDir, step: int) -> str:
    steps = sorted(int(path.stem.removeprefix("step-")) for path in run.spikes.glob("step-*.json"))
    recorded = f"recorded are {', '.join(map(str, steps))}" if steps else "no step of this run was recorded"
    return f"The batch of step {step} of {run.id} was not recorded; {recorded}."


def _row(index: int, row: Mapping[str, Any]) -> SpikeRow:
    losses = np.array([np.inf if loss in ("NaN", "Infinity") else float(loss or 0) for loss in row["losses"]])
    losses[~np.array(row["has_loss"], dtype=np.bool_)] = np.nan
    return SpikeRow(index, row["row"], row.get("file"), row.get("line"), tuple(row["input_ids"]), losses)


class SpikeReader:
    """Brings recorded tokens together with the data they came from, as far as that still says the same."""

    def __init__(self, inspection: Inspection) -> None:
        self._inspection = inspection

    def place(self, row: SpikeRow) -> tuple[str | None, int | None]:
        """File and line: as recorded, else where that row stands now."""
        if row.file is not None or not 0 <= row.row < len(self._inspection.rows):
            return row.file, row.line
        raw = self._inspection.rows.at(row.row)
        return raw.file, raw.line

    def tokens(self, row: SpikeRow) -> RowTokens:
        """The recorded tokens with their turns, or, where the data says something else by now, without.

        Raises:
            UserError: the model's tokenizer does not know the recorded tokens.
        """
        count = len(row.input_ids)
        examined = self._examined(row) or self._made_of_tokens(row)
        has_loss = np.zeros(examined.num_tokens, dtype=np.bool_)
        has_loss[:count] = ~np.isnan(row.losses)
        assert examined.rendered is not None
        recorded = replace(examined, has_loss=has_loss, kept=count)
        return RowTokens(recorded, examined.rendered, count, self._inspection.token_bytes)

    def _examined(self, row: SpikeRow) -> Examined | None:
        """The row as the data has it now; None where its tokens are others than those recorded."""
        if not 0 <= row.row < len(self._inspection.rows):
            return None
        (examined,) = self._inspection.examiner.examine([self._inspection.rows.at(row.row)])
        rendered = examined.rendered
        is_same = rendered is not None and tuple(rendered.input_ids[: len(row.input_ids)]) == row.input_ids
        return examined if is_same else None

    def _made_of_tokens(self, row: SpikeRow) -> Examined:
        file, line = self.place(row)
        has_loss = tuple((~np.isnan(row.losses)).tolist())
        example = TokenRow(row.row, file or "", line or 0, row.input_ids, has_loss)
        (rendered,) = self._inspection.examiner.renderer.render([example])
        if isinstance(rendered, BadRow):
            raise UserError(f"The recorded tokens of row {row.row} cannot be shown: {rendered.reason}.")
        return Examined(row.row, example.file, example.line, (), None, example, rendered, rendered.has_loss)

    def as_json(self, spike: Spike) -> dict[str, Any]:
        """The answer to `spike`. A number that is not finite is a text, as in the events."""
        answer: dict[str, Any] = to_strict_json(
            {
                "step": spike.step,
                "loss": spike.loss,
                "grad_norm": spike.grad_norm,
                "rows": [self._row_as_json(row) for row in spike.rows],
                "left_out": spike.left_out,
            }
        )
        return answer

    def _row_as_json(self, row: SpikeRow) -> dict[str, Any]:
        file, line = self.place(row)
        tokens = self.tokens(row)
        return {
            "index": row.index,
            "row": row.row,
            "file": file,
            "line": line,
            "num_tokens": len(row.input_ids),
            "loss_tokens": row.loss_tokens,
            "mean_loss": row.mean_loss,
            "worst": [
                {"token": token, "text": tokens.text_of(token), "loss": float(row.losses[token])}
                for token in row.worst()
            ],
        }

    def sample_as_json(self, spike: Spike, row: SpikeRow) -> dict[str, Any]:
        """The answer to `spike_sample`."""
        tokens, (file, line) = self.tokens(row), self.place(row)
        stop = tokens.limit_in_text
        segments = [segment for segment in tokens.rendered.segments if segment.start < stop]
        losses = [None if np.isnan(loss) else float(loss) for loss in row.losses]
        answer: dict[str, Any] = to_strict_json(
            {
                "step": spike.step,
                "index": row.index,
                "row": row.row,
                "file": file,
                "line": line,
                "kind": tokens.rendered.example.kind,
                "text": tokens.text[:stop],
                "segments": [
                    segment_as_json(segment._replace(stop=min(segment.stop, stop)), tokens.rendered.example)
                    for segment in segments
                ],
                "flags": flags_as_json(tokens.examined.flags),
                "num_tokens": len(row.input_ids),
                "loss_tokens": row.loss_tokens,
                "mean_loss": row.mean_loss,
                "kept": len(row.input_ids),
                "lit": tokens.lit(),
                "kept_stop": stop,
                "start": 0,
                "ids": list(row.input_ids),
                "starts": tokens.rendered.starts[: len(row.input_ids)],
                "losses": losses,
            }
        )
        return answer
