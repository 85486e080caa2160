"""The memory of the accelerator, or of the process where there is none."""

from __future__ import annotations

from engine.events import Estimate, Gpu, Host, Step
from pgs_tui.drawing.lines import Role
from pgs_tui.format import gib, plain, whole
from pgs_tui.history.history import History
from pgs_tui.widgets.bars import MARK, Part
from pgs_tui.widgets.memory_panel import MemoryView
from screens.dashboard.readings.gpus import alarm_of, no_gpu

LEAST_TOLD = 0.05
"""GiB; smaller parts of what is expected are not named."""


def memory_of(history: History) -> MemoryView:
    """The accelerator's memory; the process's own where there is none."""
    step = history.step
    gpu = history.gpus[min(history.gpus)] if history.gpus else None
    if gpu is not None or (step is not None and step.mem.allocated is not None):
        return _gpu_memory(history, gpu, step)
    return _host_memory(history, history.host) if history.host else MemoryView()


def _gpu_memory(history: History, gpu: Gpu | None, step: Step | None) -> MemoryView:
    mem = step.mem if step else None
    pairs: list[tuple[str, float | None, Role, str]] = []
    if mem is not None:
        pairs = [
            ("weights", mem.weights, "series-1", "W"),
            ("gradients", mem.gradients, "series-5", "G"),
            ("optimizer", mem.optimizer, "series-3", "O"),
            ("activations", mem.activations, "series-2", "A"),
            ("other", mem.other, "series-8", "-"),
        ]
    parts = [Part(name, amount, role, letter) for name, amount, role, letter in pairs if amount]
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
        alarm=alarm_of(gpu) or _alarm_elsewhere(history, gpu),
        expected=_expected(history.estimate) if history.estimate else "",
        others=tuple(
            (f"GPU {other.index}", other.used_by_us, other.total)
            for _, other in sorted(history.gpus.items())
            if other is not gpu and other.used_by_us is not None
        ),
    )


def _expected(estimate: Estimate) -> str:
    """The expected peak: the moment of a step in which it is reached, and its parts, the largest first."""
    parts = sorted(estimate.components.items(), key=lambda part: -part[1])
    told = " · ".join(f"{plain(name)} {gib(amount)}" for name, amount in parts if amount >= LEAST_TOLD)
    return f"expected at the peak, {plain(estimate.decides)}: {told}"


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


def _alarm_elsewhere(history: History, shown: Gpu | None) -> str:
    """What is wrong with the cards that are not shown."""
    others = (gpu for _, gpu in sorted(history.gpus.items()) if gpu is not shown)
    return " · ".join(f"GPU {gpu.index}: {alarm}" for gpu in others if (alarm := alarm_of(gpu)))


def _host_memory(history: History, host: Host) -> MemoryView:
    parts = [Part("this process", host.rss, "accent")]
    if host.memory_total and host.memory_available is not None:
        others = host.memory_total - host.memory_available - host.rss
        parts += [Part("other programs", others, "title")] if others > 0 else []
    cores = f"{host.cores} cores" if host.cores > 1 else "1 core"
    return MemoryView(
        title="process memory",
        device=no_gpu(history),
        parts=tuple(parts),
        used=host.rss,
        total=host.memory_total,
        readings=(("cpu", f"{host.cpu:.0f} % of {cores}"), ("disk free", f"{whole(host.disk_free)} GiB")),
    )
