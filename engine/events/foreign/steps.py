"""What other tools tell of their steps as the events of a run; what they do not tell is NaN where a number is due."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.events.console import ConsoleStep
from engine.events.types import Eval, Event, Resume, Step, StepMemory, StepTime

LARGEST_BATCH = 1e12
"""More tokens are in no step: something else was logged under these names."""

NO_TIME, NO_MEMORY = StepTime(), StepMemory()
"""No other tool tells of these."""


class ForeignSteps:
    """`take` what is told in order. A step is taken once; one before it is a return to an earlier checkpoint.

    `t` is when the newest step was told, as far as anybody knows; `total` how many there will be.
    """

    def __init__(self) -> None:
        self.t = 0.0
        self.total: int | None = None
        self.count = 0
        """How many steps were told."""
        self.unread = 0
        """How many of them had a value that is no number."""
        self.last: int | None = None
        self._tokens_seen: float | None = None
        self._best = math.inf

    def take(self, told: ConsoleStep, t: float | None = None) -> Iterator[Event]:
        """The events that follow; `t` is when it was told, of a step that does not say so itself."""
        self.unread += bool(told.unread)
        self.total = told.total or self.total
        t = told.t if told.t is not None else t
        if t is not None and math.isfinite(t):
            self.t = t
        if not told.is_evaluation:
            yield from self._trained(told, has_time=t is not None)
        if told.eval_loss is not None:
            is_best = told.eval_loss < self._best
            self._best = min(told.eval_loss, self._best) if told.eval_loss == told.eval_loss else self._best
            yield Eval(step=told.step, loss=told.eval_loss, best=is_best)

    def go_on_from(self, step: int | None) -> None:
        """What comes next follows this step, whatever came last."""
        self.last = step

    def _trained(self, told: ConsoleStep, *, has_time: bool) -> Iterator[Event]:
        before = self.last
        self.last = told.step
        if before is not None and told.step < before:
            self._tokens_seen = None
            yield Resume(from_step=told.step - 1, checkpoint="")
        if before is None or told.step != before:
            self.count += 1
            if not has_time and before is not None and told.dt is not None and math.isfinite(told.dt):
                self.t += told.dt * max(told.step - before, 1)
            yield self._step(told)

    def _step(self, told: ConsoleStep) -> Step:
        unknown = math.nan
        tokens = self._tokens(told)
        return Step(
            step=told.step,
            epoch=told.epoch if told.epoch is not None else unknown,
            loss=told.loss,
            lr=told.lr if told.lr is not None else unknown,
            grad_norm=told.grad_norm,
            dt=told.dt if told.dt is not None else unknown,
            tokens=tokens,
            slots=tokens,
            loss_tokens=0,
            tok_s=told.tok_s if told.tok_s is not None else unknown,
            time=NO_TIME,
            mem=NO_MEMORY,
            skipped=told.skipped,
        )

    def _tokens(self, told: ConsoleStep) -> int:
        """Since the step before, where the tokens of all so far are told; else by its own speed and time; else 0."""
        if told.tokens_seen is not None:
            before, self._tokens_seen = self._tokens_seen, told.tokens_seen
            grown = told.tokens_seen - (before or 0.0)
            return round(grown) if 0 < grown < LARGEST_BATCH else 0
        if told.tok_s is None or told.dt is None or not 0 < told.tok_s * told.dt < LARGEST_BATCH:
            return 0
        return round(told.tok_s * told.dt)
