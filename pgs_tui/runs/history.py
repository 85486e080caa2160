"""A run's whole past and present, folded from its events."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Collection, Iterable
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
from pgs_tui.runs.at_step import At, at_step
from pgs_tui.runs.axis import LARGEST_STEP, AxisName
from pgs_tui.runs.evals import Evals
from pgs_tui.runs.gpu_history import GpuField, GpuHistories, GpuHistory
from pgs_tui.runs.incidents import Incidents
from pgs_tui.runs.log_lines import LogLines
from pgs_tui.runs.marks import Mark, Marks
from pgs_tui.runs.part_reducer import PartColumns
from pgs_tui.runs.ranks import Ranks
from pgs_tui.runs.recent import RecentSteps
from pgs_tui.runs.reduced import Reduced
from pgs_tui.runs.rewinding import Superseded
from pgs_tui.runs.rows_of_columns import ascends_steadily, step_at
from pgs_tui.runs.series import Columns, Series
from pgs_tui.runs.step_table import StepTable
from pgs_tui.runs.strays import FAR, NO_OFFSET, Strays, Told

RECENT_STEPS = 200
"""How many of the newest steps speak for the present: their rate, their time split, their usual values."""
MOST_ACKS = 1000
NOT_FINITE_MARKED = ("loss", "grad_norm")
"""Metrics of which a value that is not finite is a mark."""


class History:
    """Take in events with `fold`, blocks of a log with `extend`; read the attributes and `columns`.

    `version` grows with every event. `lines` is the log of the run, where lines of it can be read back. A log that
    begins anew needs a new history.
    """

    def __init__(self, lines: LogLines | None = None) -> None:
        self.version = 0
        self.table = StepTable()
        self.superseded: list[Superseded] = []
        self.incidents = Incidents()
        self.marks = Marks(self.incidents)
        self.evals = Evals()
        self.ranks = Ranks()
        self.acks: dict[str, Ack] = {}
        self.start: Start | None = None
        self.phase: Phase | None = None
        self.host: Host | None = None
        self.estimate: Estimate | None = None
        """What the GPU's memory was expected to come to; None for runs on the CPU."""
        self.checkpoint: Checkpoint | None = None
        self.end: End | None = None
        self.last_t: float | None = None
        self._recent = RecentSteps(RECENT_STEPS)
        self._gpus = GpuHistories()
        self._lines = lines
        self._strays = Strays()
        self._newest: Told | None = None
        self._is_newest_whole = True
        self._reduced = Reduced(self.table, self.evals, self.marks)

    @property
    def steps(self) -> array[int]:
        """The numbers of all steps, ascending."""
        return self.table.axes.steps

    @property
    def series(self) -> dict[str, Series]:
        """Each metric by its name, a value for each step."""
        return self.table.series

    @property
    def recent(self) -> deque[tuple[float, Step]]:
        """The newest steps with their times."""
        return self._recent.all()

    @property
    def last_step(self) -> int | None:
        """The number of the newest step, None before the first."""
        return self.steps[-1] if self.steps else None

    @property
    def step(self) -> Step | None:
        """The newest step, as whole as its line in the log where it came in a block."""
        if self._newest is not None and not self._is_newest_whole and self._lines is not None:
            self._is_newest_whole = True
            line = self._lines.step(self._newest.offset)
            if line is not None and line.step == self._newest.step.step:
                self._newest = self._newest._replace(step=line)
        return self._newest.step if self._newest else None

    @property
    def total_steps(self) -> int | None:
        """How many steps the run will take, where that is known."""
        total = self.start.total_steps if self.start else None
        return total if total is not None and abs(total) <= LARGEST_STEP else None

    @property
    def tokens(self) -> int:
        """Real tokens trained on; steps that a resume replaced do not count."""
        return self.table.axes.tokens

    @property
    def epoch(self) -> float | None:
        """The epoch of the newest step, None before the first."""
        epochs = self.table.axes.positions("epoch")
        return epochs[-1] if epochs else None

    @property
    def peak(self) -> float | None:
        """The highest memory peak of any step that counts, GiB."""
        low, high = self.series["mem.peak"].extent(0, len(self.steps))
        return high if low <= high else None

    @property
    def best(self) -> Eval | None:
        """The best evaluation."""
        return self.evals.best

    @property
    def gpus(self) -> dict[int, Gpu]:
        """The newest reading of each card, by its index."""
        return self._gpus.newest

    @property
    def cards(self) -> dict[int, GpuHistory]:
        """All readings of each card, by its index."""
        return self._gpus.cards

    @property
    def left_out(self) -> int:
        """How many steps could not belong to the run, see `Strays`."""
        return self._strays.refused

    def notes(self) -> tuple[str, ...]:
        """Sentences about what was left out since they were asked for last."""
        return self._strays.notes()

    def fold(self, events: Iterable[Stamped], offsets: Iterable[int] = ()) -> None:
        """Take in what happened, in the order of the log; `offsets` are the first bytes of the events' lines."""
        for stamped, offset in zip(events, chain(offsets, repeat(NO_OFFSET)), strict=False):
            self.take(stamped.event, stamped.t, offset)

    def take(self, event: Event, t: float, offset: int = NO_OFFSET) -> None:
        """Take in one event; `offset` is the first byte of its line in the log."""
        self.version += 1
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

    def extend(self, block: Block) -> None:
        """Take in a block of a log, as if its events had been folded one by one."""
        match block:
            case Stamped():
                self.take(block.event, block.t)
            case GpuColumns():
                self.version += len(block)
                for t in block.t[-1:]:
                    self.last_t = t if self.last_t is None else max(t, self.last_t)
                self._gpus.extend(block)
            case StepColumns():
                self.version += len(block)
                self._take_steps(block)

    def positions(self, axis: AxisName) -> array[int] | array[float]:
        """Where each step stands on that axis, never descending."""
        return self.table.axes.positions(axis)

    def position_of(self, step: int, axis: AxisName = "step") -> float | None:
        """Where a step number stands on an axis; None before the first step."""
        return self.table.axes.position_of(step, axis)

    def index_near(self, position: float, axis: AxisName = "step") -> int | None:
        """The index of the step nearest to a position; None before the first step."""
        return self.table.axes.index_near(position, axis)

    def columns(self, metric: str, start: float, end: float, count: int, axis: AxisName = "step") -> Columns:
        """The metric's steps in [start, end) of an axis as `count` columns of lowest and highest value."""
        return self._reduced.columns(metric, start, end, count, axis)

    def smooth_columns(
        self, metric: str, alpha: float, start: float, end: float, count: int, axis: AxisName = "step"
    ) -> Columns:
        """Like `columns`, of the exponential moving average `alpha * old + (1 - alpha) * new`.

        The average's bias at the start is taken out.
        """
        return self._reduced.smooth_columns(metric, alpha, start, end, count, axis)

    def part_columns(self, start: float, end: float, count: int, axis: AxisName = "step") -> PartColumns:
        """Where the seconds of the steps went, by column."""
        return self._reduced.part_columns(start, end, count, axis)

    def gpu_columns(
        self, index: int, field: GpuField, start: float, end: float, count: int, axis: AxisName = "step"
    ) -> Columns:
        """A card's readings by column; `marks` are the columns in which it was throttled."""
        return self._reduced.gpu_columns(self.cards[index], field, start, end, count, axis)

    def eval_points(
        self, start: float, end: float, count: int, axis: AxisName = "step"
    ) -> tuple[tuple[float, float], ...]:
        """Position and loss of the evaluations, of each column the lowest and the highest."""
        return self._reduced.eval_points(start, end, count, axis)

    def column_marks(
        self, start: float, end: float, count: int, axis: AxisName = "step", metrics: Collection[str] | None = None
    ) -> tuple[tuple[float, Mark], ...]:
        """Position and the gravest mark of each column that has one; `metrics` are those of a chart, None for all."""
        return self._reduced.column_marks(start, end, count, axis, metrics)

    def smoothed(self, metric: str) -> float | None:
        """The newest value of the average that `smooth_columns` drew last."""
        return self.table.newest_average(metric)

    def at(self, step: int, read: bool = True) -> At | None:
        """All that is known of the step nearest to that number; None before the first.

        Its rows stand in the log, from which with `read` its line is read back: some 50 microseconds on a local disk.
        """
        index = self.index_near(step)
        if index is None:
            return None
        told_late = self.start is not None and self.start.device.startswith("cuda")
        return at_step(index, self.table, self.marks, self.incidents, self._lines if read else None, told_late)

    def recent_values(self, metric: str, count: int = 1000) -> list[float]:
        """The finite ones of the metric's newest `count` values."""
        return self.series[metric].finite(-count)

    def seconds_per_step(self) -> float | None:
        """Wall time per step over the recent steps, evaluation and saving included; None before two steps."""
        recent = self.recent
        if len(recent) < 2:
            return None
        (first_t, first), (last_t, last) = recent[0], recent[-1]
        steps = last.step - first.step
        return (last_t - first_t) / steps if steps > 0 and last_t > first_t else None

    def remaining_seconds(self) -> float | None:
        """Time until the last step at the present rate, None while that cannot be said."""
        rate, total, last = self.seconds_per_step(), self.total_steps, self.last_step
        if rate is None or total is None or last is None or self.end is not None:
            return None
        return max(total - last, 0) * rate

    def _take_rare(self, event: Event, t: float) -> None:
        match event:
            case Resume():
                self._resume(event, t)
            case Alert():
                self.incidents.take(event, self.last_step)
                self.marks.take_alert(event)
            case Audit():
                for found in self.incidents.take_audit(event):
                    self.marks.take_finding(found.id, self.last_step or 0)
            case Estimate():
                self.estimate = event
            case Eval():
                self._take_eval(event)
            case Phase():
                self.phase = event
            case Start():
                self.start, self.end, self.estimate = event, None, None
                self._strays.give_up()
                self.table.axes.interrupt(t)
            case Checkpoint():
                self._take_checkpoint(event)
            case Ack():
                self._take_ack(event)
            case End():
                self.end = event

    def _take_step(self, told: Told) -> None:
        self.ranks.take(told.step)
        if told.step.rank != 0:
            return
        for admitted in self._strays.admit(told, self.last_step):
            self._add(admitted)

    def _add(self, told: Told) -> None:
        step = told.step
        if self.steps and step.step <= self.steps[-1]:
            self._rewind(step.step - 1)
        begin = len(self.steps)
        self.table.append(step, told.t, told.offset)
        self._recent.append(told.t, step)
        self._newest, self._is_newest_whole = told, True
        self._mark_steps(begin, [step.step] if step.skipped else [])

    def _take_steps(self, block: StepColumns) -> None:
        """One by one while one of them does not just go on from the last, then all the others at once."""
        place, steady = 0, ascends_steadily(block)
        while place < len(block) and not (steady and self._goes_on_with(block.step[place])):
            self.last_t = block.t[place]
            self._take_step(step_at(block, place))
            place += 1
        if place < len(block):
            self._add_all(block.part(place, len(block)))

    def _goes_on_with(self, step: int) -> bool:
        last = self.last_step
        return not self._strays.is_waiting and (last is None or last < step <= last + FAR)

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

    def _take_eval(self, event: Eval) -> None:
        if abs(event.step) > LARGEST_STEP or not self.evals.take(event):
            return
        self.marks.add("eval", event.step, "loss")
        self._mark_best()
        self.table.parts.add_eval(event.step, event.seconds)

    def _mark_best(self) -> None:
        self.marks.mark_best(self.best.step if self.best else None)

    def _take_checkpoint(self, event: Checkpoint) -> None:
        self.checkpoint = event
        if abs(event.step) <= LARGEST_STEP:
            self.marks.add("checkpoint", event.step)
            self.table.parts.add_checkpoint(event.step, event.seconds)

    def _take_ack(self, event: Ack) -> None:
        self.acks[event.id] = event
        while len(self.acks) > MOST_ACKS:
            del self.acks[next(iter(self.acks))]

    def _resume(self, event: Resume, t: float) -> None:
        self._strays.give_up()
        from_step = max(min(event.from_step, LARGEST_STEP), -LARGEST_STEP)
        self._rewind(from_step)
        self.table.axes.interrupt(t)
        self.marks.add("resume", from_step if self.last_step is None else min(from_step, self.last_step))
        self.end = None

    def _rewind(self, from_step: int) -> None:
        """Put aside the steps after `from_step`; what comes next replaces them."""
        aside = self.table.rewind(from_step)
        if aside is not None:
            self.superseded.append(aside)
        self._recent.clear()
        self._newest = None
        self.incidents.rewind(from_step)
        self.marks.rewind(from_step)
        self.evals.rewind(from_step)
        self._mark_best()
