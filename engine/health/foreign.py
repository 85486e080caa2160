"""The lines of a console log as the events of a run, so that they can be judged like one.

A log knows less than a run: times are those of the lines where somebody reads them as they come, and otherwise what the
steps say they took. What a line does not tell is NaN in an event that needs a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.events.console import ConsoleStep
from engine.events.console_prefix import is_prefix, without_commands
from engine.events.foreign.step_lines import StepLines
from engine.events.foreign.steps import ForeignSteps
from engine.events.foreign.times import seconds_in
from engine.events.types import Alert, End, EndStatus, Event, Resume, Stamped
from engine.health.advice import advise
from engine.health.last_words import LastWords, Tracebacks

_CONTINUES = re.compile(r"continues after step (?P<step>\d{1,15}) from (?P<checkpoint>.+)")
_ENDS = re.compile(r"(?P<status>finished|stopped|failed): (?P<reason>.+)")
_TOTAL = re.compile(r"; (?P<total>[\d,]{1,19}) steps$")
COUNTED = "its lines tell no step and no progress bar stands beside them: they are counted, 1, 2, 3"
TOLD_OF = "the log says that the training is over"
_STATUS: dict[str, EndStatus] = {"finished": "finished", "stopped": "stopped", "failed": "failed"}


class ForeignLog:
    """`take` the lines in order, `rest` once no other will come."""

    def __init__(self) -> None:
        self._lines = StepLines()
        self._steps = ForeignSteps()
        self._total: int | None = None
        self._is_over = False
        self._stamp: float | None = None
        self.has_times = False
        """Whether the log itself tells when its steps were."""
        self._tracebacks = Tracebacks()

    @property
    def total_steps(self) -> int | None:
        """How many the log says that there will be."""
        return self._steps.total or self._total

    @property
    def steps(self) -> int:
        """How many steps the log has told of."""
        return self._steps.count

    @property
    def unread(self) -> int:
        """Step lines with a value that is no number."""
        return self._steps.unread

    @property
    def t(self) -> float:
        """When the newest line came, as far as anybody knows."""
        return self._steps.t

    @t.setter
    def t(self, t: float) -> None:
        self._steps.t = t

    @property
    def note(self) -> str:
        """What has to be known of the numbers of its steps; empty where they are told."""
        return COUNTED if self._lines.counts else ""

    def take(self, line: str, now: float | None = None) -> Iterator[Stamped]:
        """The events that the line tells of; `now` is when it came (unix seconds), None for one of the past."""
        if now is not None:
            self.t = now
        is_told = False
        for told in self._lines.take(line):
            is_told = True
            yield from self._of_step(told, None if now is not None else self._time_of(told, line))
        if self._lines.is_finished and not self._is_over:
            self._is_over = True
            yield Stamped(self.t, self._end("finished", TOLD_OF))
        elif not is_told:
            for event in self._of_other(line):
                yield Stamped(self.t, event)

    def rest(self) -> Iterator[Stamped]:
        """What waited for a line that will not come."""
        for told in self._lines.rest():
            yield from self._of_step(told)

    def _time_of(self, told: ConsoleStep, line: str) -> float | None:
        """When the step was, as long after the step before as the times say that a logger put before both.

        None where no logger did, and where the step tells its time itself.
        """
        if told.t is not None:
            self.has_times = True
            return None
        stamp = seconds_in(line)
        if stamp is None:
            return None
        since, self._stamp = stamp - (self._stamp if self._stamp is not None else stamp), stamp
        return self.t + max(since, 0.0)

    def _of_step(self, told: ConsoleStep, t: float | None = None) -> Iterator[Stamped]:
        if self._is_over and not told.is_evaluation:
            self._is_over = self._lines.is_finished = False
        for event in self._steps.take(told, t):
            yield Stamped(self.t, event)

    def _end(self, status: EndStatus, reason: str) -> End:
        return End(status=status, reason=reason, exit_code=int(status == "failed"), last_step=self._steps.last or 0)

    def _of_other(self, line: str) -> Iterator[Event]:
        text = without_commands(line)
        if found := _CONTINUES.search(text):
            if is_prefix(text[: found.start()]):
                self._steps.go_on_from(None)
                yield Resume(from_step=int(found["step"]), checkpoint=found["checkpoint"])
        elif found := _ENDS.search(text):
            if is_prefix(text[: found.start()]):
                yield self._end(_STATUS[found["status"]], found["reason"])
        elif words := self._tracebacks.take(text):
            yield from self._of_error(words)
        elif found := _TOTAL.search(text):
            self._total = int(found["total"].replace(",", ""))

    def _of_error(self, words: LastWords) -> Iterator[Event]:
        step = self._steps.last
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
        yield self._end("failed", reason)
