"""The GPU that `--measure` trains on, or the reason why it may not."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import UserError
from engine.events import BadLineError, Gpu, Stamped, Start, Step, decode
from engine.monitor import Card, Nvml, NvmlError, open_nvml, watched_cards
from engine.rundir import RegisteredRun, RunDir, list_runs, liveness, read_run_info
from engine.units import GIB

NO_GPU = "--measure needs a GPU; there is none"
_TAIL_BYTES = 256 * 1024
"""Of an event log: hundreds of seconds of a run, which tells of its GPU once a second."""
_DRIVER = Path("/sys/module/nvidia/version")


@dataclass(frozen=True, slots=True)
class GpuToMeasure:
    """A GPU of this machine that no run of ours is on; sizes in GiB."""

    name: str
    uuid: str
    index: int
    total_gib: float
    used_gib: float
    """What others hold of it before the measurement."""
    is_slice: bool = False

    @property
    def model(self) -> str:
        """The name under which measurements are kept; a slice is a GPU of its own size."""
        return f"{self.name}, a slice of {self.total_gib:.0f} GiB" if self.is_slice else self.name


def gpu_to_measure(
    environment: Mapping[str, str] = os.environ,
    open_library: Callable[[], Nvml] = open_nvml,
    runs: Callable[[], Sequence[RegisteredRun]] = list_runs,
) -> GpuToMeasure:
    """The first GPU that a training with this environment would see.

    Raises UserError where there is none, where its memory cannot be read, and while a run of ours trains on it.
    """
    try:
        nvml = open_library()
    except NvmlError as fault:
        raise UserError(f"{NO_GPU} ({fault}).") from fault
    try:
        cards = watched_cards(nvml, environment).cards
        if not cards:
            raise UserError(_none_is_visible(nvml, environment))
        _refuse_while_in_use(cards[0], runs())
        used, total = cards[0].memory()
    except NvmlError as fault:
        raise UserError(f"--measure needs a GPU, and this machine's does not answer: {fault}.") from fault
    finally:
        nvml.close()
    card = cards[0]
    is_slice = card.instance is not None
    return GpuToMeasure(card.name, card.uuid, card.index, total / GIB, used / GIB, is_slice)


def driver_version() -> str | None:
    """The version of the NVIDIA driver, where the system tells it."""
    try:
        return _DRIVER.read_text().strip()
    except OSError:
        return None


def _none_is_visible(nvml: Nvml, environment: Mapping[str, str]) -> str:
    hidden = len(nvml.cards())
    if not hidden:
        return f"{NO_GPU}."
    setting = environment.get("CUDA_VISIBLE_DEVICES", "")
    return f"--measure needs a GPU; CUDA_VISIBLE_DEVICES={setting} hides the {hidden} of this machine."


def _refuse_while_in_use(card: Card, runs: Sequence[RegisteredRun]) -> None:
    for run in runs:
        folder = RunDir(run.path)
        if liveness(folder) in ("live", "starting") and _may_be_on(folder, card):
            raise UserError(
                f"--measure: the run {run.id} is on GPU {card.index} ({card.name}), and each would spoil the other's "
                f"figures or memory: wait for its end, or stop it in `pgs-tui attach {run.id}`."
            )


def _may_be_on(run: RunDir, card: Card) -> bool:
    """Whether the run holds memory of that card, or has not told yet where it will train."""
    info = read_run_info(run)
    if info is not None and info.pid in _processes_on(card):
        return True
    told = _last_events(run.events)
    if not any(isinstance(event, Step) for event in told):
        start = next((event for event in told if isinstance(event, Start)), None)
        return start is None or start.device != "cpu"
    return any(isinstance(event, Gpu) and event.uuid == card.uuid and event.used_by_us for event in told)


def _processes_on(card: Card) -> Mapping[int, int | None]:
    try:
        return card.processes()
    except NvmlError:
        return {}


def _last_events(path: Path) -> list[object]:
    try:
        with path.open("rb") as file:
            begin = max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES)
            file.seek(begin)
            lines = file.read().split(b"\n")[1 if begin else 0 : -1]
    except OSError:
        return []
    return [stamped.event for line in lines if (stamped := _decoded(line)) is not None]


def _decoded(line: bytes) -> Stamped | None:
    try:
        return decode(line)
    except BadLineError:
        return None
