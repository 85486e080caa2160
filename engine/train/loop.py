"""The training loop, from the first step to the last."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.backward.clipping import clip_scale, measure_gradient_norm, scale_gradients
from engine.backward.gate import AtGate, go_to_gate
from engine.backward.norm import GradientNorms
from engine.backward.rehearsal import longest_packs, rehearse, shortest_samples
from engine.backward.release import GradientRelease
from engine.backward.tiled_head import TiledHead
from engine.config import Config
from engine.data import EpochSampler, PreparedData, Sample
from engine.data.feeding.batches import Batch
from engine.data.feeding.feed import BatchFeed
from engine.data.feeding.maker import BatchMaker
from engine.errors import UserError
from engine.events import End, Eval
from engine.exit_codes import DISK_FULL, FAILED
from engine.health import Judgement, TrainingHealth
from engine.memory.live import MemoryMeter
from engine.model.decoder import decoder_of
from engine.model.head import LossHead
from engine.model.offload import LayerInputs
from engine.optim.schedules import learning_rate
from engine.optim.tensor_optimizer import TensorOptimizer
from engine.session.session import Session
from engine.train.commands import CommandDesk
from engine.train.evaluate import evaluate
from engine.train.garbage import collect_if_due, collected_between_steps
from engine.train.progress import Progress
from engine.train.saver import Saver
from engine.train.stepclock import StepClock
from engine.train.telling.rehearsal_report import tell_rehearsal
from engine.train.telling.spike_record import Flagged, write_spike_record
from engine.train.telling.step_report import StepReport, Update, rows_of, step_event
from engine.train.telling.step_teller import StepTeller, is_due

if TYPE_CHECKING:
    from engine.model.compiled.watch import CompilerWatch


@dataclass
class Trainer:
    """Everything a step needs; `engine.train.assemble` builds it."""

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
    norms: GradientNorms
    release: GradientRelease | None
    """The hooks that move weights inside the backward pass, where the config asks for them."""
    total_steps: int
    batch_of: BatchMaker
    """Makes the form of batches that this run takes; with `compiler` all have as many lines."""
    feed: BatchFeed
    """The batches of each step in the sampler's order."""
    teller: StepTeller
    tiled_head: TiledHead | None = None
    """What moves the head's weight, which is then none of `release`'s, where the config asks for that."""
    layer_inputs: LayerInputs | None = None
    """What waits in main memory between the passes, where the config asks for that."""
    compiler: CompilerWatch | None = None
    """What the compiler does, where the config asks for compiled layers."""
    progress: Progress = field(default_factory=Progress)
    is_warm: bool = False
    """True once this process has done a step: on a GPU the first one compiles and tunes kernels."""
    evaluated: tuple[int, float] | None = None
    """The newest evaluation of this process: the step it came after, and its loss."""
    desk: CommandDesk = field(init=False)

    def __post_init__(self) -> None:
        self.desk = CommandDesk(self)

    def run(self) -> End:
        """Train until the last step or until somebody asks to stop. Raises UserError when training cannot go on."""
        stop = self.session.stop
        with (
            closing(self.clock),
            closing(self.feed),
            collected_between_steps(),
            stop.finishing_steps(),
            self.teller.losing_no_step(),
        ):
            try:
                if self.progress.step < self.total_steps:
                    self.rehearse()
            except UserError:
                if self.compiler is None or stop.reason is None:
                    raise
                return self.stop()  # a signal to all of a terminal's processes ends those of the compiler too
            self.go_on_training()
            self.desk.obey_all()
            if self.progress.step == 0 and self.evaluated is None:
                self.evaluate()
                self.go_on_training()
                self.desk.obey_all()
            while self.progress.step < self.total_steps and stop.reason is None:
                self.train_step()
                self.warm_up_is_over()
                if is_due(self.progress.step, self.config.data.eval_every):
                    eval_loss = self.evaluate()
                    self.teller.print_last_step(eval_loss)
                if is_due(self.progress.step, self.config.train.save_steps) and self.progress.step < self.total_steps:
                    self.save()
                self.desk.obey_all()
            return self.finish() if self.progress.step >= self.total_steps else self.stop()

    def train_step(self) -> None:
        """One optimizer step: forward, the verdict at the last hidden state, backward, the update or none."""
        collect_if_due(self.progress.step)
        self.clock.start()
        if self.compiler is not None:
            self.compiler.step_begins()
        batches, epoch = self.next_batches()
        self.clock.lap("data")
        step = self.progress.step + 1
        rate = self.rate_of(step)
        at_gate = go_to_gate(self.head, batches, self.clock.lap, self.teller.readings)
        self.teller.tell_last_step(at_gate.late)
        judgement = self.health.gate(step, at_gate.loss, at_gate.hidden_norm, rows=rows_of(batches))
        if judgement.skip:
            self.record_if_flagged(judgement, step, at_gate, None, batches)
            update = Update()
        elif self.release is not None:
            self.record_if_flagged(judgement, step, at_gate, None, batches)
            update = self.update_within_backward(at_gate, self.release, step, rate)
        else:
            update, judgement = self.update_after_backward(at_gate, judgement, step, rate, batches)
        self.head.model.zero_grad(set_to_none=True)
        self.progress.step = step
        self.progress.tokens += sum(batch.real_tokens for batch in batches)
        seconds, parts = self.clock.finish()
        recompiles = self.compiler.step_ends(step) if self.compiler is not None else None
        event = step_event(step, epoch, batches, at_gate, update, rate, seconds, parts, self.meter.read(), recompiles)
        self.teller.untold = StepReport(event, judgement, update.readings)
        if self.device.type == "cpu" or update.readings is None:
            self.teller.tell_last_step()

    def rate_of(self, step: int) -> float:
        """The learning rate of this step: the schedule's, times what people have asked for."""
        return learning_rate(self.config.train, step, self.total_steps) * self.progress.lr_scale

    def update_within_backward(self, at_gate: AtGate, release: GradientRelease, step: int, rate: float) -> Update:
        """The backward pass of the body, in which each weight moves as soon as its gradient is there."""
        assert at_gate.rest is not None, "a step without loss tokens passed the gate"
        self.norms.forget()
        self.optimizer.begin_step(step, rate)
        in_body = {id(parameter) for parameter in decoder_of(self.head.model).parameters()}
        if self.tiled_head is None:  # else its logits are computed again, for which a bias has to stay where it was
            release.step_all(p for p in at_gate.rest.head_parameters if id(p) not in in_body)
        at_gate.rest.backward()
        if self.tiled_head is not None and at_gate.rest.unmade is not None:
            self.tiled_head.step(at_gate.rest.unmade)
        release.step_rest()
        self.clock.lap("backward")
        return Update(clip_scale=1.0, readings=torch.cat([self.optimizer.movement(), self.norms.total().reshape(1)]))

    def update_after_backward(
        self, at_gate: AtGate, judgement: Judgement, step: int, rate: float, batches: Sequence[Batch]
    ) -> tuple[Update, Judgement]:
        """The backward pass of the body; then clip and take the optimizer's step, unless a gradient is not finite."""
        assert at_gate.rest is not None, "a step without loss tokens passed the gate"
        at_gate.rest.backward()
        self.clock.lap("backward")
        norm = measure_gradient_norm(self.trained_parameters())
        clips = self.config.train.max_grad_norm is not None
        refused = self.health.refuse_gradient(
            step, at_gate.loss, norm.norm, norm.non_finite, rows=rows_of(batches), judges_size=clips
        )
        if refused is not None:
            judgement = replace(refused, alerts=(*judgement.alerts, *refused.alerts))
        self.record_if_flagged(judgement, step, at_gate, norm.norm, batches)
        if judgement.skip:
            self.clock.lap("optimizer")
            return Update(norm.norm), judgement
        scale = clip_scale(norm, self.config.train.max_grad_norm)
        scale_gradients((parameter for _, parameter in self.trained_parameters()), scale)
        self.optimizer.begin_step(step, rate)
        self.optimizer.step()
        self.clock.lap("optimizer")
        return Update(norm.norm, scale, self.optimizer.movement()), judgement

    def record_if_flagged(
        self, judgement: Judgement, step: int, at_gate: AtGate, grad_norm: float | None, batches: Sequence[Batch]
    ) -> None:
        """Keep the batch behind a flagged step, with the losses that the weights give which were flagged."""
        if judgement.is_flagged:
            flagged = Flagged(step, at_gate.loss, grad_norm)
            with self.clock.left_out():
                write_spike_record(self.session, flagged, batches, self.head, self.data.report.places)

    def rehearse(self) -> None:
        """Try the longest batch before any weight moves; raises UserError when a trained weight gets no gradient."""
        self.session.phase("rehearsing" if self.compiler is None else "compiling")
        lines = self.longest_lines()
        batch = self.batch_of(lines)
        size = self.config.train.per_device_batch_size
        narrow = shortest_samples(self.sampler, size) if self.compiler is not None else []
        where = self.session.where
        where.rows, where.longest_row = batch.rows, max(sum(map(len, line)) for line in lines)
        self.optimizer.allocate_state()
        accumulates = self.config.train.gradient_accumulation_steps > 1
        with self.compiler.warming_up() if self.compiler is not None else nullcontext():
            if narrow:
                few = self.batch_of([[self.data.train[index] for index in sample] for sample in narrow])
                rehearse(self.head, few, self.norms, self.release, accumulates=False, tiled_head=self.tiled_head)
            found = rehearse(
                self.head, batch, self.norms, self.release, accumulates=accumulates, tiled_head=self.tiled_head
            )
        tell_rehearsal(self.session, found, batch, self.meter.read().peak)
        if self.layer_inputs is not None:
            self.session.say(self.layer_inputs.sentence())
            if self.device.type == "cpu":
                self.session.say("note: memory.offload_activations saves nothing on the CPU, whose memory that is")

    def longest_lines(self) -> list[list[Sample]]:
        """The samples of the widest batch, line by line."""
        packs = longest_packs(self.sampler, self.config.train.per_device_batch_size)
        return [[self.data.train[index] for index in pack] for pack in packs]

    def next_batches(self) -> tuple[Sequence[Batch], float]:
        """The micro-batches of the next step, and how many epochs will be done after it."""
        prepared = self.feed.next()
        where = self.session.where
        where.step, where.rows = self.progress.step + 1, rows_of(prepared.batches)
        where.longest_row = prepared.longest
        return prepared.batches, prepared.epoch

    def trained_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The model's weights that take gradients, with their names."""
        return ((name, parameter) for name, parameter in self.head.model.named_parameters() if parameter.requires_grad)

    def evaluate(self) -> float | None:
        """The loss on the evaluation data; None without such data or when a stop came in between."""
        self.teller.tell_last_step()
        if not self.data.eval:
            return None
        self.session.phase("evaluating")
        where = self.session.where
        where.rows, where.longest_row = (), max(len(sample) for sample in self.data.eval)
        begin, paused = time.perf_counter(), 0.0

        def is_left() -> bool:
            nonlocal paused
            paused += self.desk.pass_between_batches()
            return self.session.stop.reason is not None

        found = evaluate(
            self.head,
            self.data.eval,
            self.config.train.per_device_batch_size,
            self.batch_of.pad_id,
            progress=lambda done, total: self.session.progress("evaluating", done, total, "rows"),
            interrupted=is_left,
        )
        if found is not None:
            self.evaluated = (self.progress.step, found[0])
            self.record_evaluation(*found, seconds=time.perf_counter() - begin - paused)
        self.go_on_training()
        return None if found is None else found[0]

    def record_evaluation(self, loss: float, tokens: int, seconds: float) -> None:
        """Tell the result, and save weights better than all before; those of the last step come with `final`."""
        step, best_so_far = self.progress.step, self.progress.best_eval
        is_best = math.isfinite(loss) and (best_so_far is None or loss < best_so_far)
        self.session.emit(Eval(step=step, loss=loss, tokens=tokens, best=is_best, seconds=seconds))
        if is_best:
            self.progress.best_eval, self.progress.best_step = loss, step
            if 0 < step < self.total_steps:
                self.saver.save_best(step, self.state())

    def save(self) -> bool:
        """Save a checkpoint of this step; False when that was not possible."""
        self.teller.tell_last_step()
        saved = self.saver.save(self.progress.step, self.state())
        self.go_on_training()
        return saved

    def state(self) -> dict[str, Any]:
        """What a resumed run needs besides weights, optimizer and random generators, as JSON."""
        return {
            "progress": asdict(self.progress),
            "sampler": self.feed.state_dict(),
            "health": self.health.state_dict(),
            "model": self.config.model.name_or_path,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on where `state()` was taken."""
        self.progress = Progress(**state["progress"])
        self.feed.load_state_dict(state["sampler"])
        self.health.load_state_dict(state["health"])
        if self.progress.lr_scale != 1.0:
            self.session.say(
                f"note: the learning rate is {self.progress.lr_scale:.4g} of its schedule's, as was asked for"
            )
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
        self.teller.tell_last_step()
        step = self.progress.step
        if not is_due(self.progress.step, self.config.data.eval_every):
            self.evaluate()
        self.session.saves_last = True
        path = self.saver.save_final(step, self.state(), is_best=self.progress.best_step == step)
        all_steps = f"all {step} steps are done" if step != 1 else "its one step is done"
        done = all_steps if self.is_warm else f"no step was left: step {step} of {self.total_steps} is done"
        reason = f"{done}; the model is in {path}"
        return End(status="finished", reason=reason, exit_code=0, last_step=step)

    def stop(self) -> End:
        """Somebody asked to stop: save this step."""
        self.teller.tell_last_step()
        step, asked = self.progress.step, self.session.stop.reason
        if step == 0 or self.saver.save(step, self.state()):
            saved = f"saved as {self.session.where.last_checkpoint}" if step else "nothing to save yet"
            reason, exit_code = f"{asked} after step {step}, {saved}", 0
        else:
            reason = f"{asked} after step {step}, which could not be saved: see the alerts"
            exit_code = DISK_FULL if self.saver.disk_is_full else FAILED
        return End(status="stopped", reason=reason, exit_code=exit_code, last_step=step)
