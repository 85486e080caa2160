"""What stands in the profiler's trace: work on the device with the call that launched it, calls, operators, marks.

Times are microseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.bench.training.kernels import category

STEP, DECODER, BACKWARD = "bench: step", "bench: decoder forward", "bench: backward of the body"
"""Marks that the step's parts carry in a trace."""

UNKNOWN_LAUNCH = "unknown launch"
_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_CALLS = ("cuda_runtime", "cuda_driver")
_OPERATORS_THAT_COMPUTE = ("aten::", "pgs::", "torchao::")


@dataclass(frozen=True, slots=True)
class Span:
    """Something that ran from `start` to `end`, microseconds."""

    name: str
    start: float
    end: float
    thread: object = None
    correlation: int | None = None

    @property
    def length(self) -> float:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Work:
    """A kernel or copy on the device, and the call that launched it."""

    span: Span
    launched: Span
    operators: tuple[str, ...]
    phase: str

    @property
    def category(self) -> str:
        return category(self.span.name, self.operators)


@dataclass(slots=True)
class Trace:
    """The spans of a trace, by what they are."""

    device: list[Span] = field(default_factory=list)
    calls: list[Span] = field(default_factory=list)
    operators: list[Span] = field(default_factory=list)
    """Operators and marks on the host."""

    def marks(self, name: str) -> list[Span]:
        return sorted((span for span in self.operators if span.name == name), key=lambda span: span.start)


def read_trace(events: Iterable[Mapping[str, Any]]) -> Trace:
    """The `traceEvents` of torch.profiler's export."""
    trace = Trace()
    for event in events:
        kind = event.get("cat")
        if event.get("ph") != "X":
            continue
        begin = float(event["ts"])
        correlation = event.get("args", {}).get("correlation")
        span = Span(str(event["name"]), begin, begin + float(event.get("dur", 0)), event.get("tid"), correlation)
        if kind in _ON_DEVICE:
            trace.device.append(span)
        elif kind in _CALLS:
            trace.calls.append(span)
        elif kind in ("cpu_op", "user_annotation"):
            trace.operators.append(span)
    return trace


def work_of(trace: Trace) -> list[Work]:
    """What the device did, in order. Without a device: the operators on the host."""
    if not trace.device:
        return _work_on_host(trace)
    launches: dict[int | None, Span] = {call.correlation: call for call in trace.calls if call.correlation is not None}
    calls = [launches.get(span.correlation) or _unknown_launch(span) for span in trace.device]
    around = enclosing(calls, trace.operators)
    phases = _Phases(trace)
    found = [
        Work(span, call, operators, phases.at(call.start))
        for span, call, operators in zip(trace.device, calls, around, strict=True)
    ]
    return sorted(found, key=lambda work: work.span.start)


def _unknown_launch(span: Span) -> Span:
    """For a kernel whose launch the profiler has not seen: at the moment of its start, by nobody."""
    return Span(UNKNOWN_LAUNCH, span.start, span.start)


def _work_on_host(trace: Trace) -> list[Work]:
    """The outermost of the operators that compute, as if they were kernels."""
    real = [span for span in trace.operators if _computes(span.name)]
    around = enclosing(real, trace.operators)
    phases = _Phases(trace)
    found = [
        Work(span, span, operators, phases.at(span.start))
        for span, operators in zip(real, around, strict=True)
        if not any(map(_computes, operators))
    ]
    return sorted(found, key=lambda work: work.span.start)


def _computes(operator: str) -> bool:
    return operator.startswith(_OPERATORS_THAT_COMPUTE)


def enclosing(spans: Sequence[Span], operators: Sequence[Span]) -> list[tuple[str, ...]]:
    """The names of the operators around each span, on its thread, outermost first; never the span itself."""
    by_thread: dict[object, list[tuple[float, float, int]]] = defaultdict(list)
    for operator in operators:
        by_thread[operator.thread].append((operator.start, -operator.end, -1))
    names = {(operator.thread, operator.start, -operator.end): operator.name for operator in operators}
    wanted: dict[object, list[tuple[float, float, int]]] = defaultdict(list)
    for index, span in enumerate(spans):
        wanted[span.thread].append((span.start, -span.end, index))
    found: list[tuple[str, ...]] = [()] * len(spans)
    for thread, asked in wanted.items():
        stack: list[tuple[float, str]] = []
        for start, minus_end, index in sorted([*by_thread[thread], *asked]):
            while stack and stack[-1][0] <= start:
                stack.pop()
            if index < 0:
                stack.append((-minus_end, names[thread, start, minus_end]))
                continue
            around = [name for end, name in stack if end >= -minus_end]
            itself = spans[index].name
            found[index] = tuple(around[:-1] if around[-1:] == [itself] else around)
    return found


class _Phases:
    """Which part of a step a moment on the host belongs to."""

    def __init__(self, trace: Trace) -> None:
        self._decoder, self._backward = trace.marks(DECODER), trace.marks(BACKWARD)
        self._steps = trace.marks(STEP)

    def at(self, moment: float) -> str:
        step = _around(self._steps, moment)
        if step is None:
            return "between steps"
        if _around(self._decoder, moment):
            return "forward"
        if _around(self._backward, moment):
            return "backward"
        passed = [mark for mark in self._backward if step.start <= mark.start and mark.end <= moment]
        if passed:
            return "after the backward pass"
        is_forward_over = any(step.start <= mark.start and mark.end <= moment for mark in self._decoder)
        return "loss head" if is_forward_over else "before the forward pass"


def _around(marks: Sequence[Span], moment: float) -> Span | None:
    return next((mark for mark in marks if mark.start <= moment < mark.end), None)
