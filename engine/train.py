"""The training loop, from the first step to the last."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from engine.backward.cut import AtCut, differentiate_head, forward_to_cut
from engine.backward.norm import norm_of
from engine.commands import CommandDesk
from engine.config import Config
from engine.data import EpochSampler, PreparedData, Sample
from engine.data.feeding.batches import Batch, collate, collate_packs
from engine.errors import UserError
from engine.evaluate import evaluate
from engine.events import End, Eval, Step
from engine.events.console import format_skipped, format_step
from engine.exit_codes import DISK_FULL, FAILED
from engine.garbage import collect_if_due, collected_between_steps
from engine.health import Judgement, TrainingHealth
from engine.memory.live import MemoryMeter
from engine.model.head import LossHead
from engine.optim.clipping import GradientNorm, clip_scale, measure_gradient_norm, scale_gradients
from engine.optim.schedules import learning_rate
from engine.optim.tensor_optimizer import TensorOptimizer
from engine.saver import Saver
from engine.session.session import Session
from engine.spike_record import Flagged, write_spike_record
from engine.stepclock import StepClock

SKIPPED = "SKIPPED_IN_A_ROW"


@dataclass
class Progress:
    """How far training is; saved with every checkpoint."""

    step: int = 0
    tokens: int = 0
    best_eval: float | None = None
    best_step: int | None = None


@dataclass(frozen=True, slots=True)
class AtGate:
    """A step before anything has moved; all None when no token of it has loss."""

    loss: float | None
    """The mean over its loss tokens."""
    hidden_norm: float | None
    """The norm of the loss's gradient at the last hidden state."""
    rest: AtCut | None
    """What is left of its backward pass: the body's, of the last micro-batch."""


@dataclass
class Trainer:
    """Everything a step needs; `engine.assemble` builds it."""

    config: Config
    session: Session
    device: torch.device
    head: LossHead
    data: PreparedData
    sampler: EpochSampler
    optimizer: TensorOptimizer
    saver: Saver
    health: TrainingHealth
    clock: StepClock
    meter: MemoryMeter
    total_steps: int
    pad_id: int
    progress: Progress = field(default_factory=Progress)
    is_warm: bool = False
    """True once this process has done a step: on a GPU the first one compiles and tunes kernels."""

    def run(self) -> End:
        """Train until the last step or until somebody asks to stop. Raises UserError when training cannot go on."""
        stop = self.session.stop
        desk = CommandDesk(self)
        with closing(self.clock), collected_between_steps(), stop.finishing_steps():
            if self.progress.step == 0:
                self.evaluate()
            self.go_on_training()
            while self.progress.step < self.total_steps and stop.reason is None:
                step = self.train_step()
                self.warm_up_is_over()
                eval_loss = self.evaluate() if self.is_due(self.config.data.eval_every) else None
                self.print_step(step, eval_loss)
                if self.is_due(self.config.train.save_steps) and self.progress.step < self.total_steps:
                    self.save()
                desk.obey_all()
            return self.finish() if self.progress.step >= self.total_steps else self.stop()

    def train_step(self) -> Step:
        """One optimizer step: forward, the verdict at the last hidden state, backward, the update or none."""
        collect_if_due(self.progress.step)
        self.clock.start()
        batches, epoch = self.next_batches()
        self.clock.lap("data")
        step = self.progress.step + 1
        rate = learning_rate(self.config.train, step, self.total_steps)
        at_gate = self.forward_to_gate(batches)
        judgement = self.health.gate(step, at_gate.loss, at_gate.hidden_norm, rows=_rows(batches))
        norm, scale = None, None
        if not judgement.skip:
            norm = self.finish_backward(at_gate)
            refused = self.health.refuse_gradient(step, norm.norm, norm.non_finite, rows=_rows(batches))
            if refused is not None:
                judgement = replace(refused, alerts=(*judgement.alerts, *refused.alerts))
        if judgement.is_flagged:
            self.record(Flagged(step, at_gate.loss, norm.norm if norm else None), batches)
        if norm is not None and not judgement.skip:
            scale = self.update(norm, rate)
        self.optimizer.zero_grad(set_to_none=True)
        self.clock.lap("optimizer")
        self.progress.step = step
        self.progress.tokens += sum(batch.real_tokens for batch in batches)
        event = self.step_event(epoch, batches, at_gate, norm, rate, scale)
        self.session.emit(event)
        self.act_on(judgement, event)
        return event

    def record(self, flagged: Flagged, batches: Sequence[Batch]) -> None:
        """Keep the batch behind a flagged step, with the losses that the weights give which were flagged."""
        with self.clock.left_out():
            write_spike_record(self.session, flagged, batches, self.head, self.data.report.places)

    def act_on(self, judgement: Judgement, event: Step) -> None:
        """Tell the alerts, and raise UserError when the run does not recover."""
        afterwards = self.health.after(
            event.step,
            event.loss,
            event.grad_norm,
            event.moved,
            learning_rate=event.lr,
            skipped=event.skipped,
            rows=event.rows,
        )
        for alert in (*judgement.alerts, *afterwards):
            self.session.emit(alert)
        if judgement.verdict is None:
            self.session.say(f"step={event.step} skipped: no token of its {len(event.rows)} rows has loss")
        elif judgement.skip:
            self.session.say(format_skipped(event, judgement.verdict.metric, judgement.verdict.baseline))
        if judgement.stop is not None:
            last_good = self.session.where.last_checkpoint or "none was saved yet"
            raise UserError(f"{judgement.stop}. Last good checkpoint: {last_good}.", code=SKIPPED, has_alert=True)

    def next_batches(self) -> tuple[list[Batch], float]:
        """The micro-batches of the next step, and how many epochs will be done after it."""
        packs, epoch = self.sampler.next_batch()
        size = self.config.train.per_device_batch_size
        lines = [[self.data.train[index] for index in pack] for pack in packs]
        batches = [self.batch_of(lines[begin : begin + size]) for begin in range(0, len(lines), size)]
        where = self.session.where
        where.step, where.rows = self.progress.step + 1, _rows(batches)
        where.longest_row = max(sum(map(len, line)) for line in lines)
        return batches, epoch

    def batch_of(self, lines: Sequence[Sequence[Sample]]) -> Batch:
        """A batch of packs, or without packing of the one sample in each line."""
        if self.sampler.pack_length is not None:
            return collate_packs(lines, self.pad_id)
        return collate([sample for line in lines for sample in line], self.pad_id)

    def forward_to_gate(self, batches: Sequence[Batch]) -> AtGate:
        """Go forward, and backward up to the last hidden state of the last micro-batch, where the step is judged.

        The divisor of the loss is the count of the whole step, so neither the split into micro-batches nor their
        lengths weigh. Gradients have the type of their weights: those of bfloat16 weights add up over micro-batches in
        bfloat16.
        """
        loss_tokens = sum(batch.loss_tokens for batch in batches)
        if loss_tokens == 0:
            return AtGate(None, None, None)
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)  # of the losses, of the norms' squares
        at_cut = None
        for batch in batches:
            if at_cut is not None:
                at_cut.backward()
            forward = forward_to_cut(self.head, batch)
            self.clock.lap("forward")
            at_cut = differentiate_head(forward, loss_tokens)
            sums += torch.stack([forward.loss.detach().double(), norm_of(at_cut.gradient).square()])
            self.clock.lap("backward")
        loss, squares = sums.tolist()
        return AtGate(loss / loss_tokens, math.sqrt(squares), at_cut)

    def finish_backward(self, at_gate: AtGate) -> GradientNorm:
        """The backward pass of the body that the gate let through, and the norm of all gradients."""
        assert at_gate.rest is not None, "a step without loss tokens passed the gate"
        at_gate.rest.backward()
        self.clock.lap("backward")
        return measure_gradient_norm(self.trained_parameters())

    def update(self, norm: GradientNorm, rate: float) -> float:
        """Clip and take the optimizer's step; return the factor of clipping."""
        scale = clip_scale(norm, self.config.train.max_grad_norm)
        scale_gradients((parameter for _, parameter in self.trained_parameters()), scale)
        self.optimizer.begin_step(self.progress.step + 1, rate)
        self.optimizer.step()
        return scale

    def trained_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The model's weights that take gradients, with their names."""
        return ((name, parameter) for name, parameter in self.head.model.named_parameters() if parameter.requires_grad)

    def step_event(
        self,
        epoch: float,
        batches: Sequence[Batch],
        at_gate: AtGate,
        norm: GradientNorm | None,
        rate: float,
        scale: float | None,
    ) -> Step:
        """What there is to tell of the step; `scale` is None when its update was not taken."""
        seconds, parts = self.clock.finish()
        tokens = sum(batch.real_tokens for batch in batches)
        return Step(
            step=self.progress.step,
            epoch=epoch,
            loss=at_gate.loss,
            ce_loss=at_gate.loss,
            lr=rate,
            grad_norm=None if norm is None else norm.norm,
            hidden_norm=at_gate.hidden_norm,
            clip_scale=scale,
            dt=seconds,
            time=parts,
            tokens=tokens,
            slots=sum(batch.slots for batch in batches),
            loss_tokens=sum(batch.loss_tokens for batch in batches),
            tok_s=tokens / seconds,
            mem=self.meter.read(),
            skipped=scale is None,
            rows=_rows(batches),
        )

    def evaluate(self) -> float | None:
        """The loss on the evaluation data; None without such data or when a stop came in between."""
        if not self.data.eval:
            return None
        self.session.phase("evaluating")
        where = self.session.where
        where.rows, where.longest_row = (), max(len(sample) for sample in self.data.eval)
        found = evaluate(
            self.head,
            self.data.eval,
            self.config.train.per_device_batch_size,
            self.pad_id,
            progress=lambda done, total: self.session.progress("evaluating", done, total, "rows"),
            interrupted=lambda: self.session.stop.reason is not None,
        )
        if found is not None:
            self.record_evaluation(*found)
        self.go_on_training()
        return None if found is None else found[0]

    def record_evaluation(self, loss: float, tokens: int) -> None:
        """Tell the result, and save weights better than all before; those of the last step come with `final`."""
        step, best_so_far = self.progress.step, self.progress.best_eval
        is_best = math.isfinite(loss) and (best_so_far is None or loss < best_so_far)
        self.session.emit(Eval(step=step, loss=loss, tokens=tokens, best=is_best))
        if is_best:
            self.progress.best_eval, self.progress.best_step = loss, step
            if 0 < step < self.total_steps:
                self.saver.save_best(step, self.state())

    def save(self) -> bool:
        """Save a checkpoint of this step; False when that was not possible."""
        saved = self.saver.save(self.progress.step, self.state())
        self.go_on_training()
        return saved

    def state(self) -> dict[str, Any]:
        """What a resumed run needs besides weights, optimizer and random generators, as JSON."""
        return {
            "progress": asdict(self.progress),
            "sampler": self.sampler.state_dict(),
            "health": self.health.state_dict(),
            "model": self.config.model.name_or_path,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on where `state()` was taken."""
        self.progress = Progress(**state["progress"])
        self.sampler.load_state_dict(state["sampler"])
        self.health.load_state_dict(state["health"])
        if state["model"] != self.config.model.name_or_path:
            self.session.say(
                f"note: the checkpoint was trained from {state['model']}; tokenizer and chat template are those of "
                f"{self.config.model.name_or_path} now"
            )

    def go_on_training(self) -> None:
        """Evaluation, saving and pauses are no part of a step's time and memory."""
        compiles = self.device.type == "cuda" and not self.is_warm
        self.session.phase("compiling" if compiles else "training")
        self.clock.resume()
        self.meter.forget_peak()

    def warm_up_is_over(self) -> None:
        """The kernels are there after the first step."""
        if not self.is_warm:
            self.is_warm = True
            self.go_on_training()

    def finish(self) -> End:
        """The last step is done: evaluate unless that has just happened, and save the result."""
        step = self.progress.step
        if not self.is_due(self.config.data.eval_every):
            self.evaluate()
        path = self.saver.save_final(step, self.state(), is_best=self.progress.best_step == step)
        done = (
            f"all {step} steps are done"
            if self.is_warm
            else f"no step was left: step {step} of {self.total_steps} is done"
        )
        reason = f"{done}; the model is in {path}"
        return End(status="finished", reason=reason, exit_code=0, last_step=step)

    def stop(self) -> End:
        """Somebody asked to stop: save this step."""
        step, asked = self.progress.step, self.session.stop.reason
        if step == 0 or self.saver.save(step, self.state()):
            saved = f"saved as {self.session.where.last_checkpoint}" if step else "nothing to save yet"
            reason, exit_code = f"{asked} after step {step}, {saved}", 0
        else:
            reason = f"{asked} after step {step}, which could not be saved: see the alerts"
            exit_code = DISK_FULL if self.saver.disk_is_full else FAILED
        return End(status="stopped", reason=reason, exit_code=exit_code, last_step=step)

    def is_due(self, every: int | None) -> bool:
        """True at each `every`-th step."""
        return every is not None and self.progress.step % every == 0

    def print_step(self, step: Step, eval_loss: float | None) -> None:
        """One line in each `logging_steps`, at the first and last step, and with every evaluation.

        A skipped step has a line of its own already.
        """
        is_border = step.step in (1, self.total_steps)
        is_wanted = (is_border or self.is_due(self.config.train.logging_steps)) and not step.skipped
        if is_wanted or eval_loss is not None:
            self.session.say(format_step(step, eval_loss))


def _rows(batches: Sequence[Batch]) -> tuple[int, ...]:
    return tuple(row for batch in batches for row in batch.rows)
