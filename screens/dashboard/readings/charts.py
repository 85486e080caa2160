"""What each chart shows of a history, as a person looks at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pgs_tui.drawing.lines import Role
from pgs_tui.format import gib, percent, value, whole
from pgs_tui.history.history import History
from pgs_tui.widgets.chart_panel import ChartView
from screens.dashboard.readings.curve import curve_of
from screens.dashboard.readings.gpus import no_gpu
from screens.dashboard.readings.looking import Looking
from screens.dashboard.readings.time_parts import share_of, time_split
from screens.dashboard.readings.wording import WORDINGS

TIME_FIELDS = frozenset({"dt", "time.data", "time.forward", "time.backward", "time.optimizer", "time.gc"})
MEMORY_FIELDS = frozenset({"mem.peak", "mem.reserved", "mem.allocated"})
"""Fields of a step whose marks belong to the chart."""


def loss(history: History, looking: Looking) -> ChartView:
    """Raw loss, its average over it, evaluations and incidents."""
    known, role = _value(history, looking, "loss")
    return ChartView(
        curves=curve_of(history, looking, "loss", {"loss"}),
        value=known,
        value_role=role,
        note=_note(looking, "loss")
        if looking.at is not None
        else f"raw · ema {looking.alpha}"
        if looking.alpha
        else "raw",
        short_note=_short(looking),
        summary=_with_baseline(history, looking, _usual(looking, "loss") or _evaluations(history)),
    )


def grad_norm(history: History, looking: Looking) -> ChartView:
    """The gradient's norm before clipping, with its usual and its high values."""
    recent = sorted(history.recent_values("grad_norm"))
    usual = f"p50 {value(_rank(recent, 0.5), 3)} · p99 {value(_rank(recent, 0.99), 3)}" if recent else ""
    arrived = _moved(history)
    said = (f"{usual} · {arrived}", arrived) if usual and arrived else (usual or arrived,)
    return _chart(history, looking, "grad_norm", {"grad_norm", "hidden_norm"}, said)


def tok_s(history: History, looking: Looking) -> ChartView:
    """Real tokens a second, what was expected of them, and what waiting for data costs."""
    share = share_of(history, "data")
    expected = history.estimate.tok_s if history.estimate is not None else None
    said = [f"data wait {percent(share)}"] if share is not None else []
    if expected is not None:
        said.insert(0, " · ".join([*said, f"expected {value(expected)}"]))
    return _chart(history, looking, "tok_s", {"tok_s"}, tuple(said), reference=expected)


def dt(history: History, looking: Looking) -> ChartView:
    """Seconds a step, and where they go."""
    return _chart(history, looking, "dt", TIME_FIELDS, time_split(history))


def lr(history: History, looking: Looking) -> ChartView:
    """The learning rate; an average over it would only show it late."""
    return _chart(history, looking, "lr", {"lr"}, (), smooth=False)


def moved(history: History, looking: Looking) -> ChartView:
    """Which share of the movement that the optimizer asked for arrives in the weights."""
    said = ("of the movement asked for", "of what was asked")
    return _chart(history, looking, "moved", {"moved"}, said)


def memory(history: History, looking: Looking) -> ChartView:
    """The highest memory of each step, and what it was expected to come to."""
    estimate = history.estimate.peak if history.estimate else None
    parts = [f"highest {gib(history.peak)} GiB"] if history.peak is not None else []
    parts += [f"expected {gib(estimate)}"] if estimate is not None else []
    reserved = history.step.mem.reserved if history.step is not None else None
    parts += [f"reserved {gib(reserved)}"] if reserved is not None else []
    said = tuple(" · ".join(parts[:count]) for count in range(len(parts), 0, -1)) or ("",)
    view = _chart(history, looking, "mem.peak", MEMORY_FIELDS, said, smooth=False, reference=estimate)
    if history.peak is not None:
        return view
    nothing = no_gpu(history) or ("no memory was measured" if history.steps else ChartView().empty)
    return replace(view, curves=None, value="", empty=nothing)


CHARTS: dict[str, Callable[[History, Looking], ChartView]] = {
    "loss": loss,
    "grad_norm": grad_norm,
    "tok_s": tok_s,
    "dt": dt,
    "lr": lr,
    "moved": moved,
    "memory_over_steps": memory,
}
"""By the name of the panel."""


def _chart(
    history: History,
    looking: Looking,
    metric: str,
    marked: set[str] | frozenset[str],
    summary: tuple[str, ...],
    smooth: bool = True,
    reference: float | None = None,
) -> ChartView:
    known, role = _value(history, looking, metric)
    averaged = smooth and looking.alpha
    return ChartView(
        curves=curve_of(history, looking, metric, marked, smooth, reference),
        value=known,
        value_role=role,
        note=_note(looking, metric) if averaged else "",
        short_note=_short(looking) if averaged else "",
        summary=_usual(looking, metric) or summary,
    )


def _value(history: History, looking: Looking, metric: str) -> tuple[str, Role]:
    """The value at the cursor, else the newest."""
    number = looking.at.values.get(metric) if looking.at is not None else history.series[metric].last
    return WORDINGS[metric].words(number), "value" if number is not None else "dim"


def _usual(looking: Looking, metric: str) -> tuple[str, ...]:
    """What is usual for the step under the cursor."""
    at = looking.at
    if at is None:
        return ()
    before, usual = f"before step {whole(at.step)}", at.usual.get(metric)
    if usual is None:
        return (f"at step {whole(at.step)}",)
    known = f"usually {WORDINGS[metric].usual(usual)}"
    return f"{known} {before}", known


def _evaluations(history: History) -> tuple[str, ...]:
    """The newest evaluation and the best one, with whether the weights of that were saved and stay."""
    best, newest = history.best, history.evals.newest
    if newest is None:
        return ("",)
    last = f"eval {value(newest.loss)}"
    if best is None:
        return (last,)
    both = f"{last} · best {value(best.loss)} @ {whole(best.step)}"
    return (f"{both} kept", both, last) if history.keeps_best else (both, last)


def _with_baseline(history: History, looking: Looking, said: tuple[str, ...]) -> tuple[str, ...]:
    """How far the loss is from the run below the curves comes first: somebody has asked for it."""
    if looking.baseline is None:
        return said
    from screens.dashboard.readings.baseline import baseline_words

    apart = baseline_words(history, looking)
    return (*(f"{words} · {said[0]}" for words in apart if said[0]), *apart)


def _note(looking: Looking, metric: str) -> str:
    """The constant of the average, and at the cursor the average there."""
    average = looking.at.smoothed.get(metric) if looking.at is not None else None
    if not looking.alpha:
        return "raw"
    return f"ema {looking.alpha}" + (f" = {WORDINGS[metric].words(average)}" if average is not None else "")


def _short(looking: Looking) -> str:
    return f"ema {looking.alpha:g}".replace("0.", ".") if looking.alpha else ""


def _moved(history: History) -> str:
    """Which share of the movement that the optimizer asked for arrived in the weights, over the last steps."""
    recent = history.recent_values("moved")
    return f"moved {percent(sum(recent) / len(recent))}" if recent else ""


def _rank(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def is_told(history: History, chart: str) -> bool:
    """Whether any step tells what the chart shows, or there is no step yet; other tools do not tell everything."""
    series = history.series.get("mem.peak" if chart == "memory_over_steps" else chart)
    if series is None or not history.steps:
        return True
    low, high = series.extent(0, len(series))
    return low <= high or bool(series.marks)
