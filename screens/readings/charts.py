"""What each chart shows of a history."""

from __future__ import annotations

from collections.abc import Callable

from pgs_tui.format import gib, percent, plain, seconds, value, whole
from pgs_tui.runs.history import History
from pgs_tui.widgets.axes import nice_end
from pgs_tui.widgets.chart import Curves, Flag
from pgs_tui.widgets.chart_panel import ChartView
from pgs_tui.widgets.lines import Role
from pgs_tui.widgets.plot_frame import Sight
from pgs_tui.widgets.severities import SIGNS
from pgs_tui.widgets.ticks import XAxis
from screens.readings.gpus import no_gpu
from screens.readings.time_parts import share_of, time_split

GRADIENT_METRICS = frozenset({"grad_norm", "hidden_norm"})


def loss(history: History, alpha: float | None) -> ChartView:
    """Raw loss, its average over it, evaluations and incidents."""
    best = history.best
    evals = list(history.evals.values())
    parts = [f"eval {value(evals[-1].loss)}"] if evals else []
    parts += [f"best {value(best.loss)} @ {whole(best.step)}"] if best else []
    points = tuple((event.step, event.loss) for event in evals)
    role: Role = "value" if history.series["loss"].last is not None else "dim"
    return ChartView(
        curves=_curves(history, "loss", alpha, points, _flags(history, on_gradient=False)),
        value=value(history.series["loss"].last),
        value_role=role,
        note=f"raw · ema {alpha}" if alpha else "raw",
        summary=(" · ".join(parts), *parts[:1]),
    )


def grad_norm(history: History, alpha: float | None) -> ChartView:
    """The gradient's norm before clipping, with its usual and its high values."""
    recent = sorted(history.recent_values("grad_norm"))
    usual = f"p50 {value(_rank(recent, 0.5), 3)} · p99 {value(_rank(recent, 0.99), 3)}" if recent else ""
    moved = _moved(history)
    return ChartView(
        curves=_curves(history, "grad_norm", alpha, flags=_flags(history, on_gradient=True)),
        value=value(history.series["grad_norm"].last, 3),
        summary=(f"{usual} · {moved}", moved) if usual and moved else (usual or moved,),
    )


def _moved(history: History) -> str:
    """Which share of the movement that the optimizer asked for arrived in the weights, over the last steps."""
    recent = history.recent_values("moved")
    return f"moved {percent(sum(recent) / len(recent))}" if recent else ""


def tok_s(history: History, alpha: float | None) -> ChartView:
    """Real tokens a second, and what waiting for data costs."""
    share = share_of(history, lambda step: step.time.data)
    return ChartView(
        curves=_curves(history, "tok_s", alpha),
        value=value(history.series["tok_s"].last),
        summary=(f"data wait {percent(share)}" if share is not None else "",),
    )


def dt(history: History, alpha: float | None) -> ChartView:
    """Seconds a step, and where they go."""
    return ChartView(
        curves=_curves(history, "dt", alpha),
        value=seconds(history.series["dt"].last),
        summary=time_split(history),
    )


def lr(history: History) -> ChartView:
    """The learning rate; an average over it would only show it late."""
    return ChartView(curves=_curves(history, "lr"), value=value(history.series["lr"].last, 3))


def moved(history: History, alpha: float | None) -> ChartView:
    """Which share of the movement that the optimizer asked for arrives in the weights."""
    return ChartView(
        curves=_curves(history, "moved", alpha),
        value=percent(history.series["moved"].last) if history.series["moved"].last is not None else "",
        summary=("of the movement asked for", "of what was asked"),
    )


def memory(history: History) -> ChartView:
    """The highest memory of each step, and what it was expected to come to."""
    estimate = history.estimate.peak if history.estimate else None
    parts = [f"highest {gib(history.peak)} GiB"] if history.peak is not None else []
    parts += [f"expected {gib(estimate)} GiB"] if estimate is not None else []
    curves = _curves(history, "mem.peak", reference=estimate)
    known = history.peak is not None
    return ChartView(
        curves=curves if known else None,
        value=f"{gib(history.series['mem.peak'].last)} GiB" if known else "",
        summary=(" · ".join(parts), *parts[:1]),
        empty=no_gpu(history) or ("no memory was measured" if history.steps else ChartView().empty),
    )


def sight_of(history: History) -> Sight | None:
    """The whole run by its steps; None before the first."""
    if not history.steps:
        return None
    start, last = history.steps[0], history.steps[-1]
    return Sight(XAxis(start, max(nice_end(last, history.total_steps), start) + 1))


def _curves(
    history: History,
    metric: str,
    alpha: float | None = None,
    points: tuple[tuple[int, float], ...] = (),
    flags: tuple[Flag, ...] = (),
    reference: float | None = None,
) -> Callable[[int], Curves] | None:
    if not history.steps:
        return None
    start, last = history.steps[0], history.steps[-1]
    end = max(nice_end(last, history.total_steps), start) + 1

    def reduced(columns: int) -> Curves:
        raw = history.columns(metric, start, end, columns)
        smooth = history.smooth_columns(metric, alpha, start, end, columns) if alpha else None
        return Curves(raw, smooth, points, flags, reference=reference)

    return reduced


def _flags(history: History, on_gradient: bool) -> tuple[Flag, ...]:
    """The incidents of the gradient, or all the others, at their steps."""
    return tuple(
        Flag(one.step, f"{plain(one.title)} {one.step}", SIGNS.get(one.severity, SIGNS["warning"])[1])
        for one in history.incidents.all()
        if one.step is not None and (one.metric in GRADIENT_METRICS) == on_gradient
    )


def _rank(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
