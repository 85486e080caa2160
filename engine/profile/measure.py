"""`--measure`: real optimizer steps of the real engine in a process of its own, and what they took."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from engine.config import Config
from engine.errors import UserError
from engine.events import Alert, End, Event, EventReader, Gpu, Phase, Start, Step
from engine.exit_codes import OUT_OF_MEMORY
from engine.profile.gpu_to_measure import GpuToMeasure, driver_version
from engine.profile.measured_config import write_workload
from engine.rundir import RunDir
from engine.session.open import versions

WARM_UP = 1
"""Steps that tune kernels; they count in no figure but that of reserved memory."""
STEPS = WARM_UP + 2
ENGINE = (sys.executable, "-m", "engine.profile.measured_run")
_POLL_SECONDS = 0.05
_MOST_OF_CONTEXT_GIB = 4.0
"""What lies above is no CUDA context, but another process that took memory meanwhile."""
_PHASES = {"rehearsing": "trying the longest batch", "reading data": "loading data", "tokenizing": "loading data"}


@dataclass(frozen=True, slots=True)
class MeasuringProgress:
    """What the measurement does now, and how many of its steps are done."""

    what: str
    done: int
    total: int = STEPS


@dataclass(frozen=True, slots=True)
class Measurement:
    """What the steps took, sizes in GiB; None where it was not measured, as without a GPU.

    `fits` is False where the memory ran out: then `reason` tells of it, and there are no figures. `reserved_gib` is the
    most that the allocator took, from the first batch on; all others are those of the steps after the warm-up.
    """

    gpu: str | None
    driver: str | None
    torch: str | None
    fits: bool = True
    reason: str = ""
    peak_gib: float | None = None
    reserved_gib: float | None = None
    context_gib: float | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    """"weights", "optimizer state" and, where all are there at once, "gradients"."""
    seconds_per_step: float | None = None
    tok_s: float | None = None
    tokens_per_step: int | None = None
    notes: tuple[str, ...] = ()


class MeasuringStoppedError(Exception):
    """Somebody asked to stop."""


Tell = Callable[[MeasuringProgress], None]


def measure(
    config: Config,
    gpu: GpuToMeasure | None,
    tell: Tell = lambda progress: None,
    is_stopped: Callable[[], bool] = lambda: False,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] = ENGINE,
) -> Measurement:
    """Train a few steps of the config and return what they took; no process is left behind, however this ends.

    `gpu` is the one of `gpu_to_measure`; None measures a run wherever torch puts it, which is for trying this on the
    CPU. `environment` adds to this process's, `command` replaces the engine's (tests do that). Out of memory is a
    result. Raises UserError when the engine ends with another reason, MeasuringStoppedError soon after `is_stopped`
    says so.
    """
    seen = _Seen(tell)
    seen.say("loading model")
    with tempfile.TemporaryDirectory(prefix="pgs-measure-") as name:
        folder = Path(name)
        workload = write_workload(config, folder)
        printed, run = folder / "printed.txt", RunDir(folder / "run")
        reader = EventReader(run.events)
        arguments = (*command, "--config", str(workload.config), "--run-dir", str(run.path))
        with _training(arguments, printed, _environment(environment or {}, folder)) as process:
            while True:
                has_ended = process.poll() is not None  # asked before reading: what it wrote last is read after it
                for stamped in reader.poll().events:
                    seen.take(stamped.event)
                if gpu is not None and seen.start is not None and seen.start.device == "cpu":
                    raise UserError(f"--measure: the engine trains on the CPU. {seen.why_not_on_gpu}".rstrip())
                if len(seen.steps) >= STEPS or seen.is_out_of_memory or has_ended:
                    break
                if is_stopped():
                    raise MeasuringStoppedError
                time.sleep(_POLL_SECONDS)
        if len(seen.steps) < STEPS and not seen.is_out_of_memory:
            raise UserError(f"--measure: {seen.why_it_ended(process.returncode, printed)}")
    return seen.measurement(config, gpu, workload.notes)


@contextmanager
def _training(
    command: Sequence[str], printed: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """The engine at work; with the block it and all that it started are killed, so that nothing is saved."""
    with printed.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.PIPE,  # its lifeline: closed when this process is gone
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # it ended by itself, and its helpers with it
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _environment(more: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Of the engine: its run is listed in the folder, not among the user's, and its rows are in no cache."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **os.environ,
        **more,
        "PYTHONSAFEPATH": "1",
        "PYTHONUTF8": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "XDG_STATE_HOME": str(folder / "state"),
        "PGS_DATA_CACHE": "off",
    }


class _Seen:
    """What the events have told so far."""

    def __init__(self, tell: Tell) -> None:
        self.steps: list[Step] = []
        self.start: Start | None = None
        self.end: End | None = None
        self.gpu: Gpu | None = None
        """What was told of the GPU last, once the steps that count are running."""
        self.why_not_on_gpu = ""
        self._tell = tell
        self._told: MeasuringProgress | None = None

    def take(self, event: Event) -> None:
        match event:
            case Phase(name="training"):
                self._say_which_step()
            case Phase():
                share = "" if event.progress is None else f" {event.progress:.0%}"
                self.say(_PHASES.get(event.name, event.name) + share)
            case Start():
                self.start = event
            case Alert(code="GPU_NOT_USED"):
                self.why_not_on_gpu = event.meaning
            case Step():
                self.steps.append(event)
                self._say_which_step()
            case Gpu() if len(self.steps) >= WARM_UP:
                self.gpu = event
            case End():
                self.end = event

    def say(self, what: str) -> None:
        progress = MeasuringProgress(what, min(len(self.steps), STEPS))
        if progress != self._told:
            self._told = progress
            self._tell(progress)

    def _say_which_step(self) -> None:
        self.say(f"step {min(len(self.steps) + 1, STEPS)} of {STEPS}")

    @property
    def is_out_of_memory(self) -> bool:
        return self.end is not None and self.end.exit_code == OUT_OF_MEMORY

    def why_it_ended(self, exit_code: int | None, printed: Path) -> str:
        if self.end is not None:
            return self.end.reason
        words = printed.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(words) if line.strip()), "it said nothing")
        return f"the engine ended with exit code {exit_code}: {last}"

    def measurement(self, config: Config, gpu: GpuToMeasure | None, notes: tuple[str, ...]) -> Measurement:
        name = None if gpu is None else gpu.model
        machine = Measurement(name, driver_version() if gpu else None, versions().get("torch"), notes=notes)
        if self.is_out_of_memory:
            assert self.end is not None
            return replace(machine, fits=False, reason=self.end.reason)
        counted = self.steps[WARM_UP:STEPS]
        last = counted[-1]
        components = {"weights": last.mem.weights, "optimizer state": last.mem.optimizer}
        if not config.memory.gradient_release:  # else at most one is there at a time
            components["gradients"] = last.mem.gradients
        return replace(
            machine,
            peak_gib=max((step.mem.peak for step in counted if step.mem.peak is not None), default=None),
            reserved_gib=max((step.mem.reserved for step in self.steps if step.mem.reserved is not None), default=None),
            context_gib=self._context(gpu),
            components={part: size for part, size in components.items() if size is not None},
            seconds_per_step=median(step.dt for step in counted),
            tok_s=median(step.tok_s for step in counted),
            tokens_per_step=last.tokens,
        )

    def _context(self, gpu: GpuToMeasure | None) -> float | None:
        """What CUDA takes beside the allocator: the rest of what the GPU's use has grown by."""
        reserved = self.steps[-1].mem.reserved
        if gpu is None or self.gpu is None or reserved is None or self.gpu.used_by_others is None:
            return None
        used = (self.gpu.used_by_us or 0.0) + self.gpu.used_by_others
        context = used - gpu.used_gib - reserved
        return context if 0.0 < context < _MOST_OF_CONTEXT_GIB else None
