"""What people may ask of a run between two of its steps: stop, checkpoint, evaluate, pause, resume, scale_lr."""

from __future__ import annotations

import time
from typing import Protocol

from engine.data import PreparedData
from engine.events.control_line import Command, Refused
from engine.session.answering import answer
from engine.session.session import Session
from engine.train.progress import Progress
from engine.train.telling.step_teller import StepTeller

PAUSE_POLL_SECONDS = 0.2
SMALLEST_SCALE, LARGEST_SCALE = 1e-3, 10.0
"""How far all factors together may take the learning rate from its schedule."""


class Commanded(Protocol):
    """A training between two of its steps, as far as commands reach it."""

    session: Session
    data: PreparedData
    teller: StepTeller
    progress: Progress
    total_steps: int

    def rate_of(self, step: int) -> float: ...
    def save(self) -> bool: ...
    def evaluate(self) -> float | None: ...
    def go_on_training(self) -> None: ...


class CommandDesk:
    """Obeys the commands of `control.jsonl` and answers each of them."""

    def __init__(self, trainer: Commanded) -> None:
        self._trainer = trainer
        self._session = trainer.session
        self._is_paused = False

    def obey_all(self) -> None:
        """Do what people have asked for since the last step; in a pause wait until they say resume or stop."""
        self._obey_new()
        if not self._is_paused:
            return
        while self._is_paused and self._session.stop.reason is None:
            self._session.phase("paused")
            time.sleep(PAUSE_POLL_SECONDS)
            self._obey_new()
        self._is_paused = False
        self._trainer.go_on_training()

    def _obey_new(self) -> None:
        for asked in self._session.inbox.poll():
            ok, message = (False, asked.why) if isinstance(asked, Refused) else self._obey(asked)
            answer(self._session, asked, ok, message)

    def _obey(self, command: Command) -> tuple[bool, str]:
        """Whether the command could be done, and what came of it."""
        step = self._trainer.progress.step
        match command.cmd:
            case "stop":
                self._session.stop.request(f"asked to stop by {command.by}")
                return True, f"stops after step {step} with a checkpoint"
            case "checkpoint":
                saved = self._trainer.save()
                return saved, f"saved step {step}" if saved else "not saved, see the alerts"
            case "evaluate":
                return self._evaluate()
            case "pause":
                return True, self._pause(step)
            case "resume":
                was_paused, self._is_paused = self._is_paused, False
                return True, f"goes on after step {step}" if was_paused else "the run is not paused"
            case "scale_lr":
                return self._scale_learning_rate(command.args["factor"], step)

    def _pause(self, step: int) -> str:
        if self._is_paused:
            return f"is paused already, after step {step}"
        self._trainer.teller.tell_last_step()
        self._is_paused = True
        return f"pauses after step {step}"

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

    def _evaluate(self) -> tuple[bool, str]:
        loss = self._trainer.evaluate()
        if loss is None:
            return False, "a stop came in between" if self._trainer.data.eval else "there is no evaluation data"
        return True, f"loss {loss:.4g}"
