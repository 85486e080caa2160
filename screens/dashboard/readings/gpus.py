"""What the GPUs do, over the stretch that all charts show."""

from __future__ import annotations

from collections.abc import Callable

from engine.events import Gpu
from pgs_tui.drawing.plot_frame import Sight
from pgs_tui.format import plain, whole
from pgs_tui.history.axis import AxisName
from pgs_tui.history.gpu_history import GpuField
from pgs_tui.history.history import History
from pgs_tui.history.series import Columns
from pgs_tui.widgets.gpu_panel import Card, GpuView, Strip

NO_GPU = "no GPU: training on the CPU"
READINGS: tuple[tuple[GpuField, str, str, tuple[float, float]], ...] = (
    ("utilisation", "util", "%", (0.0, 100.0)),
    ("temperature", "temp", "°C", (30.0, 90.0)),
    ("power", "power", "W", (0.0, 300.0)),
)
"""Field, name, unit, and the limits of its strip, which grow with what is measured."""
LATEST = 2.0
"""Seconds after a reading in which it still speaks for the present: there is one every second."""


def gpus_of(history: History, sight: Sight | None, axis: AxisName, at: float | None = None) -> GpuView:
    """Each card with the readings that it has given; words for a run without one.

    `at`, unix seconds, is when the step at the cursor was told: the numbers are then those of that time.
    """
    if not history.gpus:
        return GpuView(empty=no_gpu(history) or GpuView().empty)
    if sight is None:
        return GpuView(empty="waiting for the first step")
    cards = tuple(_card(history, gpu, sight, axis, at) for _, gpu in sorted(history.gpus.items()))
    return GpuView(cards, sight)


def no_gpu(history: History) -> str:
    """That there is none, in words; empty while that is not known, and where there is one."""
    trained_on_cpu = history.start is not None and history.start.device == "cpu"
    return NO_GPU if trained_on_cpu and not history.gpus else ""


def alarm_of(gpu: Gpu | None) -> str:
    """What is wrong with the card: it is lost, or was slowed down, and why."""
    if gpu is None:
        return ""
    if gpu.error:
        return plain(gpu.error)
    return f"throttled: {plain(', '.join(gpu.throttle))}" if gpu.throttle else ""


def _card(history: History, gpu: Gpu, sight: Sight, axis: AxisName, at: float | None) -> Card:
    name, readings = f"GPU {gpu.index}", history.cards.get(gpu.index)
    if readings is None:
        return Card(name, alarm=alarm_of(gpu))
    moment = None if at is None else [(at - LATEST * readings.stride, at)]
    strips = []
    for field, label, unit, limits in READINGS:
        newest = getattr(gpu, field)
        if newest is None and not readings.has(field):
            continue
        now = _words((newest, newest) if moment is None else readings.extent(field, moment))
        strips.append(Strip(label, now, unit, limits, _columns(history, gpu.index, field, sight, axis)))
    if moment is None:
        return Card(name, tuple(strips), alarm_of(gpu))
    return Card(name, tuple(strips), "was throttled here" if readings.was_throttled(moment) else "")


def _words(extent: tuple[float | None, float | None]) -> str:
    """A reading, or the range of several; a dash where there is none."""
    low, high = extent
    if low is None or high is None or not low <= high:
        return "–"
    first, last = whole(low), whole(high)
    return first if first == last else f"{first}-{last}"


def _columns(history: History, index: int, field: GpuField, sight: Sight, axis: AxisName) -> Callable[[int], Columns]:
    return lambda count: history.gpu_columns(index, field, sight.axis.start, sight.axis.end, count, axis)
