"""The lines of a console log as the events of a run, so that they can be judged like one.

A log knows less than a run: times are those of the lines where somebody reads them as they come, and otherwise what the
steps say they took. What a line does not tell is NaN in an event that needs a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from engine.events.console import ConsoleStep, parse_step
from engine.events.console_prefix import is_prefix, without_commands
from engine.events.types import Alert, End, EndStatus, Eval, Event, Resume, Stamped, Step
from engine.health.advice import advise
from engine.health.last_words import LastWords, Tracebacks

_CONTINUES = re.compile(r"continues after step (?P<step>\d{1,15}) from (?P<checkpoint>.+)")
_ENDS = re.compile(r"(?P<status>finished|stopped|failed): (?P<reason>.+)")
_TOTAL = re.compile(r"; (?P<total>[\d,]{1,19}) steps$")
LARGEST_BATCH = 1e12
"""More tokens are in no step: something else was logged under these names."""
_STATUS: dict[str, EndStatus] = {"finished": "finished", "stopped": "stopped", "failed": "failed"}


class ForeignLog:
    """`take` the lines in order. `total_steps` is how many the log says that there will be."""

    def __init__(self) -> None:
        self.total_steps: int | None = None
        self.steps = 0
        """How many steps the log has told of."""
        self.unread = 0
        """Step lines with a value that is no number."""
        self.t = 0.0
        """When the newest line came, as far as anybody knows."""
        self._last: ConsoleStep | None = None
        self._tracebacks = Tracebacks()

    def take(self, line: str, now: float | None = None) -> Iterator[Stamped]:
        """The events that the line tells of; `now` is when it came (unix seconds), None for one of the past."""
        if now is not None:
            self.t = now
        parsed = parse_step(line)
        events = self._of_step(parsed) if parsed is not None else self._of_other(line)
        for event in events:
            yield Stamped(self.t, event)

    def _of_step(self, line: ConsoleStep) -> Iterator[Event]:
        last, self._last = self._last, line
        self.unread += bool(line.unread)
        self.total_steps = line.total or self.total_steps
        is_again = last is not None and line.step == last.step
        if last is not None and line.step < last.step:
            yield Resume(from_step=line.step - 1, checkpoint="")
        if not is_again:
            self.steps += 1
            if last is not None and line.dt is not None and math.isfinite(line.dt):
                self.t += line.dt * max(line.step - last.step, 1)
            yield _step_of(line)
        if line.eval_loss is not None:
            yield Eval(step=line.step, loss=line.eval_loss)

    def _of_other(self, line: str) -> Iterator[Event]:
        text = without_commands(line)
        if found := _CONTINUES.search(text):
            if is_prefix(text[: found.start()]):
                self._last = None
                yield Resume(from_step=int(found["step"]), checkpoint=found["checkpoint"])
        elif found := _ENDS.search(text):
            if is_prefix(text[: found.start()]):
                status = _STATUS[found["status"]]
                step = self._last.step if self._last is not None else 0
                yield End(status=status, reason=found["reason"], exit_code=int(status == "failed"), last_step=step)
        elif words := self._tracebacks.take(text):
            yield from self._of_error(words)
        elif found := _TOTAL.search(text):
            self.total_steps = int(found["total"].replace(",", ""))

    def _of_error(self, words: LastWords) -> Iterator[Event]:
        step = self._last.step if self._last is not None else None
        reason = words.error
        if words.is_out_of_memory:
            asked = ", ".join(
                f"{what} {amount}" for what, amount in (("asked for", words.asked), ("free", words.free)) if amount
            )
            reason = f"out of memory after step {step:,}" if step is not None else "out of memory before the first step"
            reason += f" ({asked})" if asked else ""
            yield Alert(
                id="end-out_of_memory",
                state="open",
                code="OUT_OF_MEMORY",
                severity="critical",
                meaning=reason,
                step=step,
                advice=advise("OUT_OF_MEMORY", {}),
            )
        yield End(status="failed", reason=reason, exit_code=1, last_step=step or 0)


def _step_of(line: ConsoleStep) -> Step:
    unknown = math.nan
    tokens = _tokens_of(line)
    return Step(
        step=line.step,
        epoch=line.epoch if line.epoch is not None else unknown,
        loss=line.loss,
        lr=line.lr if line.lr is not None else unknown,
        grad_norm=line.grad_norm,
        dt=line.dt if line.dt is not None else unknown,
        tokens=tokens,
        slots=tokens,
        loss_tokens=0,
        tok_s=line.tok_s if line.tok_s is not None else unknown,
        skipped=line.skipped,
    )


def _tokens_of(line: ConsoleStep) -> int:
    """By the line's own speed and time; 0 where it does not tell them."""
    if line.tok_s is None or line.dt is None or not 0 < line.tok_s * line.dt < LARGEST_BATCH:
        return 0
    return round(line.tok_s * line.dt)
