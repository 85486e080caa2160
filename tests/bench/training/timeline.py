"""Where the time of a step goes, from the profiler's trace: kernels, idle gaps, launches, waits of the host.

Times in a trace are microseconds; what is returned is milliseconds a step.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.training.kernels import short_name
from tests.bench.training.trace import STEP, UNKNOWN_LAUNCH, Span, Trace, Work, enclosing, work_of

_WAITS = ("Synchronize", "cudaMemcpy", "cudaFree", "cudaMalloc", "cudaHostAlloc")
_NO_WAITS = ("cudaMemcpyAsync", "cudaMallocAsync", "cudaFreeAsync", "cudaStreamWaitEvent")
_LAUNCHES = ("Launch",)


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a trace that is looked at: whole steps, from one first kernel of a step to that of a later one."""

    start: float
    end: float
    steps: int


def settled_window(trace: Trace, work: Sequence[Work]) -> Window:
    """From the second step to the last: the first begins with nothing in the device's queue, the last has no end."""
    marks = trace.marks(STEP)
    assert len(marks) >= 3, f"{len(marks)} steps in the trace, of which at least 3 are needed"
    firsts = []
    for mark in (marks[1], marks[-1]):
        starts = [one.span.start for one in work if mark.start <= one.launched.start < mark.end]
        assert starts, "a step without any work"
        firsts.append(min(starts))
    return Window(firsts[0], firsts[1], len(marks) - 2)


def timeline(trace: Trace) -> dict[str, Any]:
    """The figures of a step, as JSON."""
    everything = work_of(trace)
    window = settled_window(trace, everything)
    work = [one for one in everything if window.start <= one.span.start < window.end]
    gaps = _gaps(work, next(one for one in everything if one.span.start == window.end), window)
    calls = [call for call in trace.calls if window.start <= call.start < window.end]
    idle_for_host = sum(gap.length for gap in gaps if gap.is_late_launch)
    per_step = 1 / (1000 * window.steps)
    return {
        "steps": window.steps,
        "step_ms": (window.end - window.start) * per_step,
        "busy_ms": (window.end - window.start - sum(gap.length for gap in gaps)) * per_step,
        "idle_ms": {
            "launched late": idle_for_host * per_step,
            "between kernels": sum(gap.length for gap in gaps if not gap.is_late_launch) * per_step,
        },
        "kernels": len(work) / window.steps,
        "of unknown launch": sum(one.launched.name == UNKNOWN_LAUNCH for one in work) / window.steps,
        "launches": sum(_is_launch(call) for call in calls) / window.steps,
        "launch_calls_ms": sum(call.length for call in calls if _is_launch(call)) * per_step,
        "categories": _summed(work, lambda one: one.category, per_step),
        "phases": {
            phase: _summed([one for one in work if one.phase == phase], lambda one: one.category, per_step)
            for phase in dict.fromkeys(one.phase for one in work)
        },
        "top": _top_kernels(work, window.steps),
        "gaps": [gap.as_json() for gap in sorted(gaps, key=lambda gap: -gap.length)[:12]],
        "waits": _waits(trace, calls, window.steps),
    }


@dataclass(frozen=True, slots=True)
class _Gap:
    start: float
    end: float
    before: Work | None
    after: Work

    @property
    def length(self) -> float:
        return self.end - self.start

    @property
    def is_late_launch(self) -> bool:
        """The device had nothing to do because the host had not asked yet."""
        return self.after.launched.end > self.start

    def as_json(self) -> dict[str, Any]:
        return {
            "ms": self.length / 1000,
            "launched late": self.is_late_launch,
            "after": self.before and short_name(self.before.span.name),
            "before": short_name(self.after.span.name),
            "within": list(self.after.operators[:3]),
            "phase": self.after.phase,
        }


def _gaps(work: Sequence[Work], following: Work, window: Window) -> list[_Gap]:
    """The times without any work, up to the work that follows behind the window."""
    gaps: list[_Gap] = []
    reached, before = window.start, None
    for one in (*work, following):
        if one.span.start > reached:
            gaps.append(_Gap(reached, one.span.start, before, one))
        if one.span.end > reached:
            reached, before = one.span.end, one
    return gaps


def _is_launch(call: Span) -> bool:
    return any(sign in call.name for sign in _LAUNCHES)


def _summed(work: Sequence[Work], key: Any, per_step: float) -> dict[str, dict[str, float]]:
    """Milliseconds and kernels a step by `key`, the longest first. What runs at the same time counts twice."""
    time: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for one in work:
        time[key(one)] += one.span.length  # type: ignore[assignment]
        count[key(one)] += 1
    return {
        name: {"ms": length * per_step, "kernels": count[name] * per_step * 1000} for name, length in time.most_common()
    }


def _top_kernels(work: Sequence[Work], steps: int, most: int = 25) -> list[dict[str, Any]]:
    by_name: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in work:
        by_name[short_name(one.span.name), one.category].append(one.span.length)
    longest = sorted(by_name.items(), key=lambda item: -sum(item[1]))[:most]
    return [
        {
            "kernel": name,
            "category": kind,
            "ms": sum(lengths) / 1000 / steps,
            "count": len(lengths) / steps,
            "us_each": sum(lengths) / len(lengths),
        }
        for (name, kind), lengths in longest
    ]


def _waits(trace: Trace, calls: Sequence[Span], steps: int) -> list[dict[str, Any]]:
    """Where the host may stand still: calls that wait for the device, or ask the driver for memory."""
    waiting = [
        call
        for call in calls
        if any(sign in call.name for sign in _WAITS) and not any(sign in call.name for sign in _NO_WAITS)
    ]
    lengths: dict[tuple[str, str], list[float]] = defaultdict(list)
    for call, operators in zip(waiting, enclosing(waiting, trace.operators), strict=True):
        lengths[call.name, " > ".join(operators[-3:])].append(call.length)
    longest = sorted(lengths.items(), key=lambda item: -sum(item[1]))
    return [
        {"call": name, "within": place, "count": len(found) / steps, "ms": sum(found) / 1000 / steps}
        for (name, place), found in longest
    ]
