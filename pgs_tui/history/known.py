"""What is known of a run, to be asked."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Collection
from math import inf

from engine.events import Ack, Checkpoint, End, Estimate, Eval, Gpu, Host, Phase, Start, Step
from engine.incidents import Incidents
from pgs_tui.history.at_step import At, at_step
from pgs_tui.history.axis import LARGEST_STEP, AxisName
from pgs_tui.history.evals import Evals
from pgs_tui.history.gpu_history import GpuField, GpuHistories, GpuHistory
from pgs_tui.history.log_lines import LogLines
from pgs_tui.history.mark import Mark
from pgs_tui.history.marks import Marks
from pgs_tui.history.part_reducer import PartColumns
from pgs_tui.history.ranks import Ranks
from pgs_tui.history.recent import RecentSteps
from pgs_tui.history.reduced import Reduced
from pgs_tui.history.rewinding import Superseded
from pgs_tui.history.series import Columns, Series
from pgs_tui.history.step_table import StepTable
from pgs_tui.history.strays import Strays, Told

RECENT_STEPS = 200
"""How many of the newest steps speak for the present: their rate, their time split, their usual values."""


class KnownRun:
    """Read the attributes and `columns`; `History` fills it. `version` grows with every event.

    `lines` is the log of the run, where lines of it can be read back.
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
        self.first_t: float | None = None
        self.last_t: float | None = None
        """When the first event was told, and the newest one; unix seconds."""
        self._recent = RecentSteps(RECENT_STEPS)
        self._gpus = GpuHistories()
        self._lines = lines
        self._strays = Strays()
        self._deaths = 0
        self._is_at_work = False
        """True from a process's start on until its end was told."""
        self._paused_since: float | None = None
        """When a pause began that goes on."""
        self._is_anew = False
        """True between a new start of the log and the first step told after it."""
        self._known_until = -inf
        """What a log that began anew tells of moments up to this one may be known already."""
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
        """The epoch of the newest step, None before the first, and where no step tells it."""
        epochs = self.table.axes.positions("epoch")
        return epochs[-1] or None if epochs else None

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
    def keeps_best(self) -> bool:
        """Whether the best evaluation's weights were saved, so that they stay beside the newest checkpoints."""
        best = self.best
        return best is not None and any(mark.kind == "checkpoint" for mark in self.marks.at(best.step))

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
        """Time at work per step over the recent steps, evaluation and saving included; None before two steps."""
        return self._recent.seconds_per_step()

    def remaining_seconds(self) -> float | None:
        """Time at work until the last step at the present rate, None while that cannot be said."""
        rate, total, last = self.seconds_per_step(), self.total_steps, self.last_step
        if rate is None or total is None or last is None or self.end is not None:
            return None
        return max(total - last, 0) * rate
