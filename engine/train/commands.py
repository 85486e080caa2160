"""What people may ask of a run in training: stop, checkpoint, evaluate, pause, resume, scale_lr."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from engine.data import PreparedData
from engine.events.control_line import Command
from engine.session.moments import Moment, between_steps, within_evaluation
from engine.session.session import Session
from engine.train.progress import Progress
from engine.train.telling.step_teller import StepTeller

PAUSE_POLL_SECONDS = 0.2
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 10.0
"""How far all factors together may take the learning rate from its schedule."""


class Commanded(Protocol):
    """A training between two of its steps or two batches of an evaluation, as far as commands reach it."""

    session: Session
    data: PreparedData
    teller: StepTeller
    progress: Progress
    total_steps: int
    evaluated: tuple[int, float] | None

    def rate_of(self, step: int) -> float: ...
    def save(self) -> bool: ...
    def evaluate(self) -> float | None: ...
    def go_on_training(self) -> None: ...


class CommandDesk:
    """Obeys the commands of `control.jsonl` and answers each of them."""

    def __init__(self, trainer: Commanded) -> None:
        self._trainer = trainer
        self._session = trainer.session
        self._orders = trainer.session.orders
        self._is_paused = False
        self._evaluates_in_pause = False

    def obey_all(self) -> None:
        """Do what people have asked for since the last step; in a pause wait until they say resume or stop."""
        self._obey_new()
        if self._orders.is_to_pause:
            self._trainer.teller.tell_last_step()
            self._wait(self._obey_new)
            self._trainer.go_on_training()

    def pass_between_batches(self) -> float:
        """Do what can be done within an evaluation, and return the seconds of a pause."""
        self._obey_within_evaluation()
        if not self._orders.is_to_pause or self._evaluates_in_pause:
            return 0.0
        begin = time.perf_counter()
        self._wait(self._obey_within_evaluation)
        self._session.phase("evaluating")
        return time.perf_counter() - begin

    def _wait(self, obey: Callable[[], None]) -> None:
        self._is_paused = True
        while self._orders.is_to_pause:
            self._session.phase("paused")
            time.sleep(PAUSE_POLL_SECONDS)
            obey()
        self._is_paused = False

    def _obey_new(self) -> None:
        self._orders.look()
        while (command := self._orders.next()) is not None:
            step = self._trainer.progress.step
            match command.cmd:
                case "checkpoint":
                    self._session.answer(command, *self._save(step))
                case "evaluate":
                    self._session.answer(command, *self._evaluate(step))
                case "scale_lr":
                    self._session.answer(command, *self._scale_learning_rate(command.args["factor"], step))
                case "pause":
                    self._trainer.teller.tell_last_step()
                    self._take_wish(command, between_steps(step))
                case _:
                    self._take_wish(command, between_steps(step))

    def _obey_within_evaluation(self) -> None:
        """A checkpoint of now would not know of this evaluation, which it may be the best of."""
        self._orders.look()
        while (command := self._orders.next(deferred=False)) is not None:
            step = self._trainer.progress.step
            moment = within_evaluation(step)
            match command.cmd:
                case "checkpoint":
                    self._orders.defer(command, f"saves {moment.later}")
                case "evaluate":
                    self._orders.defer(command, f"is evaluating already: tells the loss {moment.later}")
                case "scale_lr":
                    self._session.answer(command, *self._scale_learning_rate(command.args["factor"], step))
                case _:
                    self._take_wish(command, moment)

    def _take_wish(self, command: Command, moment: Moment) -> None:
        self._orders.take_wish(command, moment, self._is_paused)

    def _save(self, step: int) -> tuple[bool, str]:
        """Whether this step could be saved, and what came of it."""
        if not step:
            return False, "no step is done yet: there is nothing to save"
        saved = self._trainer.save()
        return saved, f"saved step {step}" if saved else "not saved, see the alerts"

    def _scale_learning_rate(self, factor: float, step: int) -> tuple[bool, str]:
        """Multiply the schedule's rate from the next step on, up to the end and in every later resume."""
        progress = self._trainer.progress
        scale = progress.lr_scale * factor
        if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
            return False, (
                f"the learning rate would be {scale:.4g} of its schedule's, which may be {SMALLEST_SCALE:g} to "
                f"{LARGEST_SCALE:g}; it stays at {progress.lr_scale:.4g}"
            )
        if step >= self._trainer.total_steps:
            return False, "no step is left"
        before = self._trainer.rate_of(step + 1)
        progress.lr_scale = scale
        after = self._trainer.rate_of(step + 1)
        return True, f"learning rate {before:.4g} -> {after:.4g} from step {step + 1} on, {scale:.4g} of its schedule's"

    def _evaluate(self, step: int) -> tuple[bool, str]:
        """The same weights have the same loss: where it is known, it is told."""
        known = self._trainer.evaluated
        if known is not None and known[0] == step:
            return True, f"loss {known[1]:.4g}"
        self._evaluates_in_pause = self._orders.is_to_pause
        loss = self._trainer.evaluate()
        self._evaluates_in_pause = False
        if loss is None:
            return False, "a stop came in between" if self._trainer.data.eval else "there is no evaluation data"
        return True, f"loss {loss:.4g}"
