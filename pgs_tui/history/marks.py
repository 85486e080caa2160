"""What happened at the steps of a run beside their numbers: marked on the curves, and walked from one to the next."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator

from engine.events import Alert
from engine.incidents import Incidents
from pgs_tui.history.axis import LARGEST_STEP, Axes, AxisName
from pgs_tui.history.mark import ODD, PLAIN, ROLES_OF_SEVERITIES, Mark, MarkKind, Place, kind_of, plain_mark
from pgs_tui.history.touched import Touched


class Marks:
    """Steps by kind, each an ascending array; a mark is made only when it is looked at."""

    def __init__(self, incidents: Incidents) -> None:
        self.version = 0
        """Grows whenever a mark may have come, gone or changed."""
        self._incidents = incidents
        self._plain: dict[Place, array[int]] = {place: array("q") for place in PLAIN}
        self._touched: dict[MarkKind, Touched] = {}

    def __len__(self) -> int:
        return sum(len(steps) for steps in self._rows())

    @property
    def last_step(self) -> int | None:
        """The last marked step."""
        return max((steps[-1] for steps in self._rows() if steps), default=None)

    def add(self, kind: MarkKind, step: int, metric: str | None = None) -> None:
        """Mark a step."""
        self.version += 1
        steps = self._plain[kind, metric]
        place = bisect_left(steps, step)
        if place == len(steps) or steps[place] != step:
            steps.insert(place, step)

    def mark_best(self, step: int | None) -> None:
        """Mark the step after which the best evaluation was, and no other; None where there is none."""
        marked = array("q", [] if step is None else [step])
        self.version += marked != self._plain["best", "loss"]
        self._plain["best", "loss"] = marked

    def add_behind(self, kind: MarkKind, steps: Iterable[int], metric: str | None = None) -> None:
        """Mark ascending steps, all of them behind those that have a mark of this kind."""
        marked = self._plain[kind, metric]
        before = len(marked)
        marked.extend(steps)
        self.version += len(marked) > before

    def take_alert(self, alert: Alert) -> None:
        """Mark the step that an alert speaks of; its incident must be among the incidents."""
        self.version += 1
        if alert.step is not None and abs(alert.step) <= LARGEST_STEP:
            self._touched.setdefault(kind_of(alert.code), Touched()).add(alert.step, alert.id)

    def forget(self, alert: Alert) -> None:
        """Take the marks of an alert's incident away."""
        self.version += 1
        self._touched.setdefault(kind_of(alert.code), Touched()).forget(alert.id)

    def take_finding(self, incident_id: str, step: int) -> None:
        """Mark where a finding about the data was told."""
        self.version += 1
        self._touched.setdefault("audit", Touched()).add(step, incident_id)

    def rewind(self, from_step: int, and_resumes: bool = False) -> None:
        """Take the marks of later steps away; where the run was resumed stays marked, unless that is void too."""
        self.version += 1
        for (kind, _), steps in self._plain.items():
            if kind != "resume" or and_resumes:
                del steps[bisect_right(steps, from_step) :]
        for touched in self._touched.values():
            touched.rewind(from_step)

    def at(self, step: int) -> tuple[Mark, ...]:
        """The marks of that very step, the gravest first."""
        touched = [
            self._touch(kind, step, incident_id) for kind, one in self._touched.items() for incident_id in one.at(step)
        ]
        told = {mark.metric for mark in touched if mark.kind == "nan"}
        plain = [
            plain_mark(kind, step, metric)
            for (kind, metric), steps in self._plain.items()
            if _holds(steps, step) and not (kind == "nan" and metric in told)
        ]
        return tuple(sorted([*touched, *plain], key=lambda mark: mark.gravity, reverse=True))

    def stops(self, step: int) -> tuple[Mark, ...]:
        """The gravest mark of that very step, and behind it those of its other incidents: each is read by itself."""
        first, *rest = self.at(step) or (None,)
        return () if first is None else (first, *(mark for mark in rest if mark.incident_id is not None))

    def after(self, step: int) -> Mark | None:
        """The gravest mark of the next marked step, None behind the last."""
        found = [steps[place] for steps in self._rows() if (place := bisect_right(steps, step)) < len(steps)]
        return self.at(min(found))[0] if found else None

    def before(self, step: int) -> Mark | None:
        """The gravest mark of the last marked step before this one, None before the first."""
        found = [steps[place - 1] for steps in self._rows() if (place := bisect_left(steps, step))]
        return self.at(max(found))[0] if found else None

    def newest(self) -> Mark | None:
        """The gravest mark of the last marked step."""
        return self.before(LARGEST_STEP + 1)

    def odd_steps(self, first: int, last: int) -> frozenset[int]:
        """The steps from `first` to `last` whose values say nothing about what is usual."""
        touched = [one.steps for kind, one in self._touched.items() if kind in ODD]
        rows = [*touched, *(steps for (kind, _), steps in self._plain.items() if kind in ODD)]
        return frozenset(
            step for steps in rows for step in steps[bisect_left(steps, first) : bisect_right(steps, last)]
        )

    def between(self, first: int, last: int) -> Iterator[Mark]:
        """All marks of the steps from `first` to `last`, in order."""
        inside = {
            step for steps in self._rows() for step in steps[bisect_left(steps, first) : bisect_right(steps, last)]
        }
        for step in sorted(inside):
            yield from self.at(step)

    def in_columns(
        self, axes: Axes, axis: AxisName, start: float, end: float, count: int, metrics: Collection[str] | None = None
    ) -> tuple[tuple[float, Mark], ...]:
        """Position on the axis and the gravest mark of each of `count` columns over [start, end) that has one.

        `metrics` are the fields of a step that the chart shows, None for all; what belongs to all charts is always in.
        """
        gravest: dict[int, tuple[float, Mark]] = {}
        width = (end - start) / max(count, 1)
        if width <= 0 or not axes.steps:
            return ()
        for column, step in self._one_a_column(axes, axis, start, width, count):
            position = axes.position_of(step, axis)
            assert position is not None, "there are steps"
            for mark in self.at(step):
                wanted = metrics is None or mark.metric is None or mark.metric in metrics
                if wanted and (column not in gravest or mark.gravity > gravest[column][1].gravity):
                    gravest[column] = position, mark
        return tuple(gravest[column] for column in sorted(gravest))

    def _one_a_column(
        self, axes: Axes, axis: AxisName, start: float, width: float, count: int
    ) -> Iterator[tuple[int, int]]:
        """Of every kind the first marked step in each column, with the column."""
        positions = axes.positions(axis)
        for steps in self._rows():
            place = 0
            while place < len(steps):
                position = axes.position_of(steps[place], axis)
                assert position is not None, "there are steps"
                column = int((position - start) // width)
                if 0 <= column < count:
                    yield column, steps[place]
                following = bisect_left(positions, start + (max(column, -1) + 1) * width)
                if column >= count or following >= len(positions):
                    break
                place = max(bisect_left(steps, axes.steps[following]), place + 1)

    def _rows(self) -> Iterator[array[int]]:
        yield from self._plain.values()
        for touched in self._touched.values():
            yield touched.steps

    def _touch(self, kind: MarkKind, step: int, incident_id: str) -> Mark:
        incident = self._incidents.get(incident_id)
        if incident is None:
            return Mark(kind, step, f"{kind} {step}", "warn", "warning")
        role = ROLES_OF_SEVERITIES.get(incident.severity, "warn")
        touch = self._incidents.touch(incident_id, step)
        rows = touch.rows if touch else incident.rows
        label = f"{incident.title} {step}"
        metric = "loss" if kind == "audit" else incident.metric  # data that is odd shows in the loss, if anywhere
        return Mark(kind, step, label, role, incident.severity, incident_id, rows, metric)


def _holds(steps: array[int], step: int) -> bool:
    place = bisect_left(steps, step)
    return place < len(steps) and steps[place] == step
