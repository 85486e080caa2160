"""What the panels of the dashboard show for a run as it is now. Pure functions, no widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.events import Gpu, Host, Phase, Step
from pgs_tui.format import duration, gib, percent, plain, seconds, value, whole
from pgs_tui.runs.follow import Life
from pgs_tui.runs.history import History
from pgs_tui.widgets.axes import nice_end
from pgs_tui.widgets.bars import MARK, Part
from pgs_tui.widgets.chart import Curves, Flag
from pgs_tui.widgets.chart_panel import ChartView
from pgs_tui.widgets.lines import Role
from pgs_tui.widgets.memory_panel import MemoryView
from pgs_tui.widgets.severities import SIGNS
from pgs_tui.widgets.status_line import Status

Outcome = Literal["running", "finished", "stopped", "failed", "killed"]

PHASE_SIGNS: dict[str, tuple[str, Role]] = {"training": ("●", "good"), "paused": ("‖", "warn")}
OUTCOME_SIGNS: dict[Outcome, tuple[str, Role]] = {
    "finished": ("✔", "good"),
    "stopped": ("■", "warn"),
    "failed": ("✖", "bad"),
    "killed": ("✖", "bad"),
}
SHORT_NAMES = {"forward": "fwd", "backward": "bwd", "optimizer": "opt"}
GRADIENT_METRICS = frozenset({"grad_norm", "hidden_norm"})
PHASE_NAMES = {"rehearsing": "trying the longest batch"}
LATE_SECONDS = 10.0
LATE_STEPS = 8
"""News is late after this many seconds, and this many times the usual time of a step."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The run as it is now: its past, its engine, and the wall clock."""

    name: str
    history: History
    life: Life
    now: float
    exit_code: int | None = None
    held: bool = False
    loading: bool = False
    """True while the run's past is still being read, and nothing can be said about its present."""

    @property
    def outcome(self) -> Outcome:
        """How the run ended, or that it has not, as far as the log has been read."""
        if self.loading:
            return "running"
        if self.history.end is not None:
            return self.history.end.status
        return "killed" if self.life == "gone" else "running"


def status(situation: Situation) -> Status:
    """The first line."""
    history = situation.history
    sign, state, role = _state(situation)
    age, age_role = _age(situation)
    running = situation.outcome == "running"
    return Status(
        name=situation.name,
        state=state,
        sign=sign,
        role=role,
        step=history.last_step,
        total=history.total_steps,
        epoch=history.series["epoch"].last,
        remaining=history.remaining_seconds() if running and not situation.loading else None,
        age=age,
        age_role=age_role,
        held=situation.held,
    )


def banner(situation: Situation, last_words: tuple[str, ...]) -> tuple[str, str, Role] | None:
    """How the run ended, what there is to know about it, and its role; None while it goes on."""
    outcome, history = situation.outcome, situation.history
    if outcome == "running":
        return None
    sign, role = OUTCOME_SIGNS[outcome]
    heard = f"last words: {last_words[-1]}" if last_words else "its log is empty"
    if outcome == "killed":
        return f"{sign} {_vanished(situation)}", heard, role
    end = history.end
    assert end is not None
    saved = f" · checkpoint {history.checkpoint.path}" if history.checkpoint else ""
    what = f"{sign} {outcome} at step {whole(end.last_step)}" + (f": {end.reason}" if end.reason else "")
    if outcome == "failed":
        return what, f"exit code {end.exit_code}{saved} · {heard}", role
    best = history.best
    measured = f"best eval {value(best.loss)} at step {whole(best.step)}" if best else "no evaluation"
    return what, measured + saved, role


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
    share = _share(history, lambda step: step.time.data)
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
        summary=_time_split(history),
    )


def memory(history: History) -> MemoryView:
    """The accelerator's memory; the process's own where there is none."""
    step = history.step
    gpu = history.gpus[min(history.gpus)] if history.gpus else None
    if gpu is not None or (step is not None and step.mem.allocated is not None):
        return _gpu_memory(history, gpu, step)
    return _host_memory(history.host) if history.host else MemoryView()


def _curves(
    history: History,
    metric: str,
    alpha: float | None = None,
    points: tuple[tuple[int, float], ...] = (),
    flags: tuple[Flag, ...] = (),
) -> Callable[[int], Curves] | None:
    if not history.steps:
        return None
    start, last = history.steps[0], history.steps[-1]
    end = max(nice_end(last, history.total_steps), start) + 1

    def reduced(columns: int) -> Curves:
        raw = history.columns(metric, start, end, columns)
        smooth = history.smooth_columns(metric, alpha, start, end, columns) if alpha else None
        return Curves(raw, smooth, points, flags)

    return reduced


def _flags(history: History, on_gradient: bool) -> tuple[Flag, ...]:
    """The incidents of the gradient, or all the others, at their steps."""
    return tuple(
        Flag(one.step, f"{plain(one.title)} {one.step}", SIGNS.get(one.severity, SIGNS["warning"])[1])
        for one in history.incidents.all()
        if one.step is not None and (one.metric in GRADIENT_METRICS) == on_gradient
    )


def _state(situation: Situation) -> tuple[str, str, Role]:
    outcome = situation.outcome
    if outcome != "running":
        sign, role = OUTCOME_SIGNS[outcome]
        return sign, outcome, role
    if situation.loading:
        return "◐", "reading the log", "accent"
    phase = situation.history.phase
    if phase is None:
        return "○", "starting", "dim"
    sign, role = PHASE_SIGNS.get(phase.name, ("◐", "accent"))
    return sign, plain(PHASE_NAMES.get(phase.name, phase.name)) + _progress(phase), role


def _progress(phase: Phase) -> str:
    if phase.progress is not None:
        return f" {percent(phase.progress)}"
    if phase.done is None:
        return ""
    if phase.unit == "bytes":
        total = f"/{gib(phase.total / 2**30)}" if phase.total else ""
        return f" {gib(phase.done / 2**30)}{total} GiB"
    total = f"/{whole(phase.total)}" if phase.total else ""
    return f" {whole(phase.done)}{total} {plain(phase.unit or '')}".rstrip()


def _age(situation: Situation) -> tuple[str, Role]:
    """Rounded to whole seconds, so that a lively run does not repaint it all the time."""
    history = situation.history
    if situation.loading:
        return "", "dim"
    if history.last_t is None:
        return "no data yet", "dim"
    age = max(situation.now - history.last_t, 0.0)
    if situation.outcome != "running":
        return f"{duration(age)} ago", "dim"
    late = age > max(LATE_SECONDS, LATE_STEPS * (history.seconds_per_step() or 0.0))
    waiting = history.phase is not None and history.phase.name != "training"
    return "data < 1 s old" if age < 1 else f"data {duration(age)} old", "warn" if late and not waiting else "dim"


def _vanished(situation: Situation) -> str:
    last, code = situation.history.last_step, situation.exit_code
    if situation.history.start is None and last is None and code is not None:
        return f"the engine did not start: it ended with exit code {code}"
    when = f"after step {whole(last)}" if last is not None else "before its first step"
    how = f"by signal {-code}" if code is not None and code < 0 else "kill -9, out of memory, or a reboot"
    return f"killed {when}: the engine vanished without a word ({how})"


def _share(history: History, part: Callable[[Step], float | None]) -> float | None:
    """The part's share of the time of the recent steps, None where it was not measured."""
    measured = [(part(step), step.dt) for _, step in history.recent]
    known = [(seconds_of, whole_step) for seconds_of, whole_step in measured if seconds_of is not None]
    total = sum(whole_step for _, whole_step in known)
    return sum(seconds_of for seconds_of, _ in known) / total if total > 0 else None


def _time_split(history: History) -> tuple[str, ...]:
    shares = {
        "data": _share(history, lambda step: step.time.data),
        "forward": _share(history, lambda step: step.time.forward),
        "backward": _share(history, lambda step: step.time.backward),
        "optimizer": _share(history, lambda step: step.time.optimizer),
        "gc": _share(history, lambda step: step.time.gc),
    }
    shown = {name: share for name, share in shares.items() if share is not None and (name != "gc" or share >= 0.005)}
    if not shown:
        return ()
    rest = 1 - sum(shown.values())
    if rest >= 0.005:
        shown["other"] = rest
    words = [f"{name} {share * 100:.0f}" for name, share in shown.items()]
    short = [f"{SHORT_NAMES.get(name, name)} {share * 100:.0f}" for name, share in shown.items()]
    return " · ".join(words) + " %", " · ".join(short) + " %", " ".join(short[:4]) + " %"


def _rank(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _gpu_memory(history: History, gpu: Gpu | None, step: Step | None) -> MemoryView:
    mem = step.mem if step else None
    pairs: list[tuple[str, float | None, Role]] = []
    if mem is not None:
        pairs = [
            ("weights", mem.weights, "accent"),
            ("gradients", mem.gradients, "key"),
            ("optimizer", mem.optimizer, "good"),
            ("activations", mem.activations, "raw"),
            ("other", mem.other, "title"),
        ]
    parts = [Part(name, amount, role) for name, amount, role in pairs if amount]
    used = gpu.used_by_us if gpu and gpu.used_by_us is not None else mem.allocated if mem else None
    if not parts and used:
        parts = [Part("in use", used, "accent")]
    if gpu and gpu.used_by_others:
        parts.append(Part("other programs", gpu.used_by_others, "warn"))
    more = f", {len(history.gpus) - 1} more" if len(history.gpus) > 1 else ""
    return MemoryView(
        title=f"GPU {gpu.index}" if gpu else "GPU memory",
        device=(plain(gpu.name) if gpu else "") + more,
        parts=tuple(parts),
        used=used,
        total=gpu.total if gpu else None,
        estimate=history.estimate.peak if history.estimate else None,
        readings=_gpu_readings(history, gpu),
        alarm=_gpu_alarm(gpu) or _alarm_elsewhere(history, gpu),
    )


def _gpu_readings(history: History, gpu: Gpu | None) -> tuple[tuple[str, str], ...]:
    # the first step may still make what all later ones hold: the optimizer's state, buffers that kernels tune
    peak = "peak" if len(history.steps) > 1 else "peak so far"
    readings = [(peak, gib(history.peak))] if history.peak is not None else []
    readings += [(f"{MARK} est", gib(history.estimate.peak))] if history.estimate is not None else []
    if gpu is not None:
        readings += [("util", f"{gpu.utilisation:.0f} %")] if gpu.utilisation is not None else []
        readings += [("", f"{gpu.temperature:.0f} °C")] if gpu.temperature is not None else []
        readings += [("", f"{gpu.power:.0f} W")] if gpu.power is not None else []
    return tuple(readings)


def _gpu_alarm(gpu: Gpu | None) -> str:
    if gpu is None:
        return ""
    if gpu.error:
        return plain(gpu.error)
    return f"throttled: {plain(', '.join(gpu.throttle))}" if gpu.throttle else ""


def _alarm_elsewhere(history: History, shown: Gpu | None) -> str:
    """What is wrong with the cards that are not shown."""
    others = (gpu for _, gpu in sorted(history.gpus.items()) if gpu is not shown)
    return " · ".join(f"GPU {gpu.index}: {alarm}" for gpu in others if (alarm := _gpu_alarm(gpu)))


def _host_memory(host: Host) -> MemoryView:
    parts = [Part("this process", host.rss, "accent")]
    if host.memory_total and host.memory_available is not None:
        others = host.memory_total - host.memory_available - host.rss
        parts += [Part("other programs", others, "title")] if others > 0 else []
    cores = f"{host.cores} cores" if host.cores > 1 else "1 core"
    return MemoryView(
        title="process memory",
        device="no GPU: training on the CPU",
        parts=tuple(parts),
        used=host.rss,
        total=host.memory_total,
        readings=(("cpu", f"{host.cpu:.0f} % of {cores}"), ("disk free", f"{whole(host.disk_free)} GiB")),
    )
