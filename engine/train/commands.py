"""What people may ask of a run between two of its steps: stop, checkpoint, evaluate, pause, resume."""

from __future__ import annotations

import time
from typing import Protocol

from engine.data import PreparedData
from engine.events import Ack
from engine.session.control import Command
from engine.session.session import Session
from engine.train.progress import Progress
from engine.train.telling.step_teller import StepTeller

PAUSE_POLL_SECONDS = 0.2


class Commanded(Protocol):
    """A training between two of its steps, as far as commands reach it."""

    session: Session
    data: PreparedData
    teller: StepTeller
    progress: Progress

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
        for command in self._session.inbox.poll():
            ok, message = self._obey(command)
            self._session.emit(Ack(id=command.id, ok=ok, message=message))

    def _obey(self, command: Command) -> tuple[bool, str]:
        """Whether the command could be done, and what came of it."""
        step = self._trainer.progress.step
        match command.cmd:
            case _ if command.problem:
                return False, command.problem
            case "stop":
                self._session.stop.request(f"asked to stop by {command.by or 'a command'}")
                return True, f"stops after step {step} with a checkpoint"
            case "checkpoint":
                saved = self._trainer.save()
                return saved, f"saved step {step}" if saved else "not saved, see the alerts"
            case "evaluate":
                return self._evaluate()
            case "pause":
                self._trainer.teller.tell_last_step()
                self._is_paused = True
                return True, f"pauses after step {step}"
            case "resume":
                was_paused, self._is_paused = self._is_paused, False
                return True, f"goes on after step {step}" if was_paused else "the run is not paused"
        return False, f"{command.cmd} is not available; possible are stop, checkpoint, evaluate, pause, resume"

    def _evaluate(self) -> tuple[bool, str]:
        loss = self._trainer.evaluate()
        if loss is None:
            return False, "a stop came in between" if self._trainer.data.eval else "there is no evaluation data"
        return True, f"loss {loss:.4g}"
