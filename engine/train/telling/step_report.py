"""What there is to tell of a step, when all of it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from engine.backward.gate import AtGate
from engine.data.feeding.batches import Batch
from engine.events import Step, StepMemory, StepTime
from engine.health import Judgement


@dataclass(frozen=True, slots=True)
class Update:
    """What came of a step's gradients."""

    grad_norm: float | None = None
    """The norm over all gradients before clipping; None where it is among the readings or unknown."""
    clip_scale: float | None = None
    """The factor of clipping, None for an update that was not taken."""
    readings: Tensor | None = None
    """float64 on the device: the two sums of the optimizer's movement and, under gradient release, the norm."""

    @property
    def is_taken(self) -> bool:
        return self.clip_scale is not None


@dataclass(frozen=True, slots=True)
class StepReport:
    """A step that is done, but for the numbers that the device still holds."""

    event: Step
    judgement: Judgement
    readings: Tensor | None = None

    def with_readings(self, numbers: Sequence[float]) -> StepReport:
        """The report with what was read from the device."""
        if self.readings is None:
            return self
        arrived, asked, *norm = numbers
        moved = arrived / asked if asked > 0 else None
        grad_norm = norm[0] if norm else self.event.grad_norm
        return StepReport(replace(self.event, moved=moved, grad_norm=grad_norm), self.judgement)


def rows_of(batches: Sequence[Batch]) -> tuple[int, ...]:
    """The rows of the data in a step, in order."""
    return tuple(row for batch in batches for row in batch.rows)


def step_event(
    step: int,
    epoch: float,
    batches: Sequence[Batch],
    at_gate: AtGate,
    update: Update,
    learning_rate: float,
    seconds: float,
    parts: StepTime,
    memory: StepMemory,
    recompiles: int | None = None,
) -> Step:
    """The event of a step, as far as the host knows it."""
    tokens = sum(batch.real_tokens for batch in batches)
    return Step(
        step=step,
        epoch=epoch,
        loss=at_gate.loss,
        ce_loss=at_gate.loss,
        lr=learning_rate,
        grad_norm=update.grad_norm,
        hidden_norm=at_gate.hidden_norm,
        clip_scale=update.clip_scale,
        dt=seconds,
        time=parts,
        tokens=tokens,
        slots=sum(batch.slots for batch in batches),
        loss_tokens=sum(batch.loss_tokens for batch in batches),
        tok_s=tokens / seconds,
        mem=memory,
        skipped=not update.is_taken,
        recompiles=recompiles,
        rows=rows_of(batches),
    )
