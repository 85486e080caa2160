"""Saving during a run: what may be saved, what is told of it, and that a failed save never ends the training."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from engine.checkpoint.merge import write_merged
from engine.checkpoint.original import Original
from engine.checkpoint.safetensors_file import SourceChangedError
from engine.checkpoint.store import CheckpointStore, NotEnoughSpaceError
from engine.checkpoint.trainer_state import save_trainer_state
from engine.checkpoint.weights import first_not_finite, saved_bytes
from engine.errors import UserError
from engine.events import Alert, Checkpoint
from engine.events.types import CheckpointKind
from engine.session.session import Session

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

State = dict[str, Any]
"""What a resumed run needs besides weights, optimizer and random generators; JSON."""


SAVE_FAILED = "SAVE_FAILED"
"""The alert's code for a checkpoint that could not be written for another reason than a full disk."""
BEST_NOT_MARKED = "BEST_NOT_MARKED"
LATER = "The run goes on and tries again at the next save."
FINAL_WAIT_SECONDS = 600
FINAL_RETRY_SECONDS = 5


class NotFiniteWeightsError(UserError):
    """The weights hold NaN or infinity and are not worth keeping."""

    code = "WEIGHTS_NOT_FINITE"


@dataclass
class Saver:
    """Writes checkpoints of the model in training. One of weights that are not finite is never written."""

    session: Session
    store: CheckpointStore
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    optimizer: torch.optim.Optimizer
    original: Original | None = None
    """The files that the model came from: written again with the trained tensors. None: the model alone is saved."""
    saved_step: int | None = None
    _failures: dict[str, Alert] = field(default_factory=dict)
    """By code: alerts of saves that failed, open until a save succeeds."""

    @property
    def disk_is_full(self) -> bool:
        """True when the last save found no space."""
        return NotEnoughSpaceError.code in self._failures

    def save(self, step: int, state: State, kind: CheckpointKind = "step") -> bool:
        """Save `checkpoints/step-N`. A disk that fails or bad weights become an alert and False; training goes on."""
        if self.saved_step == step:
            return True
        try:
            self._save(step, kind, lambda write, size: self.store.save(step, write, size), state)
        except NotEnoughSpaceError as error:
            self._tell_of_failure(step, error.code, f"{error} {LATER}")
            return False
        except OSError as error:
            reason = f"The checkpoint of step {step} could not be written: {error}. {LATER}"
            self._tell_of_failure(step, SAVE_FAILED, reason)
            return False
        except NotFiniteWeightsError:
            return False
        return True

    def save_best(self, step: int, state: State) -> None:
        """Save this step and let `checkpoints/best` point to it."""
        if self.save(step, state, kind="best"):
            self._mark_best(step, self.session.run.checkpoints / f"step-{step}")

    def save_final(self, step: int, state: State, is_best: bool) -> Path:
        """Save `final`; on a full disk wait for space, since hours of training would be lost.

        Raises UserError when the weights are not finite, or when there is still no space after `FINAL_WAIT_SECONDS` or
        a request to stop.
        """
        patience = time.monotonic() + FINAL_WAIT_SECONDS
        while True:
            try:
                path = self._save(step, "final", self.store.save_final, state)
            except NotEnoughSpaceError as error:
                if self.session.stop.reason is not None or time.monotonic() >= patience:
                    raise
                self._tell_of_failure(
                    step, error.code, f"{error} The run waits for space up to {FINAL_WAIT_SECONDS} s."
                )
                self._wait_for_another_try()
            else:
                break
        if is_best:
            self._mark_best(step, path)
        return path

    def _mark_best(self, step: int, path: Path) -> None:
        """Without links on the file system, or space for one, the run goes on without the mark."""
        try:
            self.store.mark_best(path)
        except (OSError, RuntimeError) as error:
            meaning = f"checkpoints/best could not be set to {path.name}, the best so far: {error}."
            self._tell_of_failure(step, BEST_NOT_MARKED, meaning)

    def _wait_for_another_try(self) -> None:
        until = time.monotonic() + FINAL_RETRY_SECONDS
        while time.monotonic() < until and self.session.stop.reason is None:
            time.sleep(0.1)

    def _save(
        self,
        step: int,
        kind: CheckpointKind,
        store: Callable[[Callable[[Path], None], int], Path],
        state: State,
    ) -> Path:
        self.session.phase("saving")
        begin = time.perf_counter()
        self._refuse_not_finite(step)
        path = store(lambda folder: self._write(folder, state), saved_bytes(self.model, self.optimizer, self.original))
        self._leave_removed_original(path)
        self.saved_step = step
        relative = str(path.relative_to(self.session.run.path))
        self.session.where.last_checkpoint = relative
        self._tell_of_success(step)
        self.session.emit(
            Checkpoint(
                step=step,
                path=relative,
                seconds=time.perf_counter() - begin,
                bytes=sum(file.stat().st_size for file in path.rglob("*") if file.is_file()),
                checkpoint_kind=kind,
            )
        )
        return path

    def _write(self, folder: Path, state: State) -> None:
        self._write_model(folder)
        self.tokenizer.save_pretrained(folder)
        save_trainer_state(folder, state, self.optimizer)
        self.session.events.flush_to_disk()  # or after a power cut the log would end before the step to go on from

    def _write_model(self, folder: Path) -> None:
        if self.original is not None:
            try:
                write_merged(self.original, self.model, folder)
                return
            except SourceChangedError as error:
                self._give_original_up(error)
                shutil.rmtree(folder)
                folder.mkdir()
        self.model.save_pretrained(folder)

    def _give_original_up(self, error: SourceChangedError) -> None:
        assert self.original is not None
        count, where = len(self.original.not_loaded), self.original.folder
        lost = f"all but the {count:,} tensors of {where} that this run does not load" if count else "all weights"
        self.session.say(f"warning: From now on checkpoints hold {lost}: {error}.")
        self.original.close()
        self.original = None

    def _leave_removed_original(self, saved: Path) -> None:
        """An original that was an old checkpoint, now removed, would keep its space while it is open."""
        if self.original is not None and self.original.is_removed:
            self.original = self.original.moved_to(saved)

    def _refuse_not_finite(self, step: int) -> None:
        name = first_not_finite(self.model)
        if name is not None:
            reason = (
                f"The weights of step {step} are not saved: {name} holds NaN or infinity; earlier checkpoints are "
                f"untouched, the last good one is {self.session.where.last_checkpoint or 'none'}."
            )
            self._tell_of_failure(step, NotFiniteWeightsError.code, reason)
            raise NotFiniteWeightsError(reason, has_alert=True)

    def _tell_of_failure(self, step: int, code: str, meaning: str) -> None:
        alert = _critical(code.lower().replace("_", "-"), code, step, meaning)
        self.session.emit(replace(alert, state="update") if code in self._failures else alert)
        self.session.say(meaning)
        self._failures[code] = alert

    def _tell_of_success(self, step: int) -> None:
        for alert in self._failures.values():
            self.session.emit(replace(alert, state="closed", step=step))
        self._failures.clear()


def _critical(identity: str, code: str, step: int, meaning: str) -> Alert:
    return Alert(id=identity, state="open", code=code, severity="critical", step=step, meaning=meaning)
