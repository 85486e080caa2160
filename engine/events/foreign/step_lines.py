"""The steps that the lines of a log tell of, in whichever of the usual ways.

step=50  loss=2.34 lr=4.5e-05          what this project and many others print
{'loss': 2.34, 'epoch': 0.02}          a dict of Hugging Face's Trainer or TRL, whose step only a progress bar tells
{"step": 50, "loss": 2.34}             an object of JSON
step,loss,lr / 50,2.34,4.5e-05         a table
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from engine.events.console import ConsoleStep, step_in
from engine.events.console_prefix import is_prefix, without_commands
from engine.events.foreign.bars import TrainingBar
from engine.events.foreign.fields import Field, field_of
from engine.events.foreign.pairs import begin_of_dict, pairs_in
from engine.events.foreign.table import Table

_SUMMARY = ("train_runtime", "train_loss")
"""Both stand in the last dict of Hugging Face's Trainer, whose `train_loss` is the mean over all steps."""
LARGEST_STEP = 2**53


class StepLines:
    """`take` the lines in order. A dict without a step waits for the progress bar behind it, which tells its step.

    Where there is no bar either, such lines are counted: `counts` says so. `is_finished` says that the training has
    told that it is over.
    """

    def __init__(self) -> None:
        self.counts = False
        self.is_finished = False
        self._bar = TrainingBar()
        self._table = Table()
        self._waiting: ConsoleStep | None = None
        self._count = 0

    def take(self, line: str) -> Iterator[ConsoleStep]:
        """The steps that are known with this line."""
        text = without_commands(line)
        if (told := step_in(text)) is not None:
            yield from self.rest()
            yield told
            return
        if "|" in text and self._bar.take(text):
            yield from self._place_waiting()
        elif (begin := begin_of_dict(text)) is not None and is_prefix(text[:begin]):
            yield from self._of_dict(pairs_in(text[begin:]))
        elif (row := self._table.take(text)) is not None:
            yield from self._with_step(told_by(row), "step" in row)

    def rest(self) -> Iterator[ConsoleStep]:
        """The step that waits for its number, when no bar will come any more."""
        if self._waiting is not None:
            self._count += not self._waiting.is_evaluation
            self.counts = self._bar.step is None
            step = self._count if self._bar.step is None else self._bar.step
            yield self._placed(step)

    def _of_dict(self, pairs: Mapping[str, float]) -> Iterator[ConsoleStep]:
        if all(name in pairs for name in _SUMMARY) and "loss" not in pairs:
            self.is_finished = True
            yield from self.rest()
            return
        values = known_of(pairs)
        if "loss" in values or "eval_loss" in values:
            yield from self._with_step(told_by(values), "step" in values)

    def _with_step(self, told: ConsoleStep, is_told: bool) -> Iterator[ConsoleStep]:
        yield from self.rest()
        if is_told:
            yield told
        else:
            self._waiting = told

    def _place_waiting(self) -> Iterator[ConsoleStep]:
        if self._waiting is not None and self._bar.step is not None:
            yield self._placed(self._bar.step)

    def _placed(self, step: int) -> ConsoleStep:
        assert self._waiting is not None, "somebody waits for a step"
        placed = replace(self._waiting, step=step, total=self._bar.total)
        self._waiting = None
        return placed


def known_of(pairs: Mapping[str, float]) -> dict[Field, float]:
    """The values whose names are known, by field; of two names for one field the first counts."""
    values: dict[Field, float] = {}
    for name, value in pairs.items():
        field = field_of(name)
        if field is not None:
            values.setdefault(field, value)
    return values


def told_by(values: Mapping[Field, float]) -> ConsoleStep:
    """A step of these values; without a usable number of a step it is step 0."""
    return ConsoleStep(
        step=_whole(values.get("step")) or 0,
        loss=values.get("loss"),
        lr=values.get("lr"),
        tok_s=values.get("tok_s"),
        grad_norm=values.get("grad_norm"),
        dt=values.get("dt"),
        eval_loss=values.get("eval_loss"),
        total=_whole(values.get("total")),
        epoch=values.get("epoch"),
        tokens_seen=values.get("tokens_seen"),
        t=values.get("t"),
    )


def _whole(value: float | None) -> int | None:
    """A count; None for what is none."""
    return int(value) if value is not None and math.isfinite(value) and 0 <= value <= LARGEST_STEP else None
