"""A run's whole past and present, folded from its events."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat

from engine.events import (
    Ack,
    Alert,
    Audit,
    Checkpoint,
    End,
    Estimate,
    Eval,
    Event,
    Gpu,
    Host,
    Phase,
    Resume,
    Stamped,
    Start,
    Step,
)
from engine.events.columns import Block, GpuColumns, StepColumns
from engine.health.reader_watch import earlier_death
from pgs_tui.history.axis import LARGEST_STEP
from pgs_tui.history.known import RECENT_STEPS, KnownRun
from pgs_tui.history.rows_of_columns import ascends_steadily, step_at
from pgs_tui.history.strays import FAR, NO_OFFSET, Told

__all__ = ["RECENT_STEPS", "History"]

MOST_ACKS = 1000
NOT_FINITE_MARKED = ("loss", "grad_norm")
"""Metrics of which a value that is not finite is a mark."""


class History(KnownRun):
    """Takes in events with `fold`, blocks of a log with `extend`; `begin_anew` says that its log was emptied."""

    def fold(self, events: Iterable[Stamped], offsets: Iterable[int] = ()) -> None:
        """Take in what happened, in the order of the log; `offsets` are the first bytes of the events' lines."""
        for stamped, offset in zip(events, chain(offsets, repeat(NO_OFFSET)), strict=False):
            self.take(stamped.event, stamped.t, offset)

    def take(self, event: Event, t: float, offset: int = NO_OFFSET) -> None:
        """Take in one event; `offset` is the first byte of its line in the log."""
        self.version += 1
        self._note_time(t)
        self.last_t = t
        match event:
            case Step():
                self._take_step(Told(event, t, offset))
            case Gpu():
                self._gpus.append(event, t)
            case Host():
                self.host = event
            case _:
                self._take_rare(event, t)

    def begin_anew(self) -> None:
        """The log was emptied or replaced. What it has told stays, but no line of it can be read back any more.

        What follows goes on from there: a step that is not beyond the last one takes its place, as after a resume.
        """
        self.version += 1
        self.table.offsets.forget()
        self._strays.give_up()
        if self._newest is not None:
            self._newest = self._newest._replace(offset=NO_OFFSET)
        if self.last_t is not None:
            self._known_until = self._gpus.known_until = self.last_t
        self._is_anew = True

    def extend(self, block: Block) -> None:
        """Take in a block of a log, as if its events had been folded one by one."""
        match block:
            case Stamped():
                self.take(block.event, block.t)
            case GpuColumns():
                self.version += len(block)
                for t in block.t[-1:]:
                    self.last_t = t if self.last_t is None else max(t, self.last_t)
                self._note_time(*block.t[:1])
                self._gpus.extend(block)
            case StepColumns():
                self.version += len(block)
                self._note_time(*block.t[:1])
                self._take_steps(block)

    def _note_time(self, *t: float) -> None:
        if self.first_t is None and t:
            self.first_t = t[0]

    def _take_rare(self, event: Event, t: float) -> None:
        if isinstance(event, Phase | Eval | Checkpoint | Start | Resume):
            self._recent.tell_other()
        match event:
            case Resume():
                self._resume(event, t)
            case Alert():
                self.incidents.take(event, self.last_step)
                if event.step is None or self._is_of_this_run(event.step):
                    self.marks.take_alert(event)
            case Audit():
                for found, _ in self.incidents.take_audit(event):
                    self.marks.take_finding(found.id, self.last_step or 0)
            case Estimate():
                self.estimate = event
            case Eval():
                self._take_eval(event, t)
            case Phase():
                self._take_phase(event, t)
            case Start():
                if not self._is_retold(t):
                    self._note_process()
                self.start, self.end, self.estimate = event, None, None
                self.incidents.start_anew()
                self._strays.give_up()
                self.table.axes.interrupt(t)
            case Checkpoint():
                self._take_checkpoint(event, t)
            case Ack():
                self._take_ack(event)
            case End():
                self.end, self._is_at_work = event, False
                self.incidents.end_with(event)

    def _note_process(self) -> None:
        """Another engine is at work; where the one before told no end, that is an incident, over by now."""
        if self._is_at_work:
            self._deaths += 1
            self.incidents.take(earlier_death(self._deaths, self.last_step), self.last_step, by_reader=True)
        self._is_at_work = True

    def _take_phase(self, event: Phase, t: float) -> None:
        self.phase, self.end = event, None  # behind an end it is another engine that tells of its phase
        if event.name != "paused":
            self._end_pause(t)
        elif self._paused_since is None:
            self._paused_since = t

    def _end_pause(self, t: float) -> None:
        """What lies between its beginning and now was no time at work."""
        since, self._paused_since = self._paused_since, None
        if since is not None and t > since:
            self._recent.tell_other(paused=t - since)
            self.table.axes.interrupt(t, since)

    def _take_step(self, told: Told) -> None:
        self.ranks.take(told.step)
        if told.step.rank != 0:
            return
        self._end_pause(told.t)
        for admitted in self._strays.admit(told, None if self._is_anew else self.last_step):
            self._add(admitted)

    def _add(self, told: Told) -> None:
        step = told.step
        if self.steps and step.step <= self.steps[-1]:
            self._rewind(step.step - 1, told.t)
        self._is_anew = False
        begin = len(self.steps)
        self.table.append(step, told.t, told.offset)
        self._recent.append(told.t, step)
        self._newest, self._is_newest_whole = told, True
        self._mark_steps(begin, [step.step] if step.skipped else [])

    def _take_steps(self, block: StepColumns) -> None:
        """One by one while one of them does not just go on from the last, then all the others at once."""
        self._end_pause(block.t[0])
        place, steady = 0, ascends_steadily(block)
        while place < len(block) and not (steady and self._goes_on_with(block.step[place])):
            self.last_t = block.t[place]
            self._take_step(step_at(block, place))
            place += 1
        if place < len(block):
            self._add_all(block.part(place, len(block)))

    def _goes_on_with(self, step: int) -> bool:
        last = self.last_step
        return not self._strays.is_waiting and not self._is_anew and (last is None or last < step <= last + FAR)

    def _add_all(self, block: StepColumns) -> None:
        begin = len(self.steps)
        self.table.extend(block)
        self.last_t = block.t[-1]
        self._recent.extend(block)
        self._newest, self._is_newest_whole = step_at(block, len(block) - 1), False
        self.ranks.extend(self._newest.step, block.values["dt"])
        skipped = block.values["skipped"]
        self._mark_steps(begin, [block.step[place] for place, one in enumerate(skipped) if one] if any(skipped) else [])

    def _mark_steps(self, begin: int, skipped: Iterable[int]) -> None:
        """Mark, of the steps from index `begin` on, those that were skipped, and those with values not finite."""
        self.marks.add_behind("skipped", skipped)
        for metric in NOT_FINITE_MARKED:
            self.marks.add_behind("nan", self.table.not_finite(metric, begin), metric)

    def _take_eval(self, event: Eval, t: float) -> None:
        is_known = self._is_retold(t) and any(one.name == event.name for one in self.evals.at(event.step))
        if not self._is_of_this_run(event.step) or not self.evals.take(event):
            return
        self.marks.add("eval", event.step, "loss")
        self._mark_best()
        if not is_known:
            self.table.parts.add_eval(event.step, event.seconds)

    def _is_of_this_run(self, step: int) -> bool:
        """Whether something told of that step can be shown beside the steps that there are."""
        last = self.last_step
        return abs(step) <= LARGEST_STEP and (last is None or self._is_anew or abs(step - last) <= FAR)

    def _is_retold(self, t: float) -> bool:
        """Whether what was told at that moment may have been told before the log began anew."""
        return t <= self._known_until

    def _mark_best(self) -> None:
        self.marks.mark_best(self.best.step if self.best else None)

    def _take_checkpoint(self, event: Checkpoint, t: float) -> None:
        self.checkpoint = event
        is_known = self._is_retold(t) and any(mark.kind == "checkpoint" for mark in self.marks.at(event.step))
        if self._is_of_this_run(event.step):
            self.marks.add("checkpoint", event.step)
            if not is_known:
                self.table.parts.add_checkpoint(event.step, event.seconds)

    def _take_ack(self, event: Ack) -> None:
        self.acks[event.id] = event
        while len(self.acks) > MOST_ACKS:
            del self.acks[next(iter(self.acks))]

    def _resume(self, event: Resume, t: float) -> None:
        self._strays.give_up()
        from_step = max(min(event.from_step, LARGEST_STEP), -LARGEST_STEP)
        self._rewind(from_step, t)
        self.table.axes.interrupt(t)
        self.marks.add("resume", from_step if self.last_step is None else min(from_step, self.last_step))
        self.end = None

    def _rewind(self, from_step: int, t: float) -> None:
        """Put aside the steps after `from_step`; what comes next, told at `t`, replaces them."""
        is_retold = self._is_retold(t)
        aside = self.table.rewind(from_step, is_retold)
        if aside is not None and not is_retold:
            self.superseded.append(aside)
        self._recent.clear()
        self._newest = None
        self.incidents.rewind(from_step)
        self.marks.rewind(from_step, and_resumes=self._is_anew)
        self.evals.rewind(from_step)
        self._mark_best()
