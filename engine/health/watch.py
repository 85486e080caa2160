"""Detectors that only tell: fed with the events of a run, whoever reads them, they never skip a step.

The engine feeds them as it trains and writes the alerts into the run's log; a reader feeds them with a log whose engine
did not. Which codes an engine has judged its `start` event says, and those are left to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.events.types import Alert, Estimate, Eval, Gpu, Host, Phase, Resume, Scalar, Stamped, Start, Step
from engine.health.above_start import AboveStartDetector
from engine.health.alerts import IncidentLog
from engine.health.eval_rising import EvalRisingDetector
from engine.health.finding import Finding
from engine.health.growing import GrowingDetector
from engine.health.growing_memory import GrowingMemoryDetector
from engine.health.machine import Machine
from engine.health.mask import MaskDetector
from engine.health.near_limit import HostNearLimitDetector, NearLimitDetector
from engine.health.rising import RisingDetector
from engine.health.slow_steps import SlowStepDetector
from engine.health.stall_cause import CHECKPOINT, EVALUATION, NOTHING, PAUSE, START, Surroundings
from engine.health.throttled import ThrottledDetector
from engine.health.throughput import ThroughputDetector
from engine.health.too_low import TooLowDetector

WATCHED = (
    "LOSS_TOO_LOW",
    "LOSS_ABOVE_START",
    "LOSS_RISES",
    "GRAD_NORM_GROWS",
    "EVAL_RISES",
    "MASK_SHIFTED",
    "STEP_SLOW",
    "STALL",
    "THROUGHPUT_LOW",
    "THROTTLED",
    "MEMORY_NEAR_LIMIT",
    "MEMORY_GROWS",
    "HOST_MEMORY_NEAR_LIMIT",
    "HOST_MEMORY_GROWS",
)
"""The codes that are judged here."""
PROCESS_CODES = ("THROTTLED", "MEMORY_NEAR_LIMIT", "MEMORY_GROWS", "HOST_MEMORY_NEAR_LIMIT", "HOST_MEMORY_GROWS")
"""The codes that belong to a process: the next one begins without them."""
BREAKS = {
    "compiling": START,
    "rehearsing": START,
    "evaluating": EVALUATION,
    "saving": CHECKPOINT,
    "paused": PAUSE,
}
"""Phases after which a step is none to judge the usual by."""
FIRST_STEPS = 2
"""Steps at the start of a process that allocate, tune and compile."""
_Found = dict[str, Finding | None]
"""What was looked for at a step, by code: what is wrong, or None where nothing is."""


class RunWatch:
    """Takes the events of a run in the order of its log and returns the alerts that follow.

    Its state is JSON; windows and open incidents come back exactly. Readings of the machine do not, nor what a process
    has to settle into anew.
    """

    def __init__(self, settings: Mapping[str, Scalar], total_steps: int | None = None) -> None:
        """`settings` are the run's own, by key (`train.learning_rate`), as far as they are known."""
        self._settings = settings
        self._total_steps = total_steps
        self._left_to_engine: frozenset[str] = frozenset()
        self._slow_paths: tuple[str, ...] = ()
        self._expected: float | None = None
        self._begin()

    def take(self, event: Stamped) -> tuple[Alert, ...]:
        """The alerts that open, go on or close with this event."""
        match event.event:
            case Step() as step:
                alerts = self._judge_step(step) if step.rank == 0 else []
            case Eval() as evaluation:
                self._comes_after(EVALUATION)
                found = self._evaluations.check(evaluation.step, evaluation.loss, evaluation.name)
                alerts = self._tell("EVAL_RISES", evaluation.step, found)
            case Gpu() | Host() as reading:
                alerts = self._judge_reading(event.t, reading)
            case Start() as start:
                alerts = self._start(start)
            case Resume():
                alerts = self._start_over()
            case Phase(name=name):
                alerts = self._comes_after(BREAKS.get(name))
            case Estimate(tok_s=tok_s):
                self._expected, alerts = tok_s, []
            case _:
                alerts = []
        return tuple([alert for alert in alerts if alert.code not in self._left_to_engine]) if alerts else ()

    def state_dict(self) -> dict[str, Any]:
        return {name: detector.state_dict() for name, detector in self._kept().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; a detector that it knows nothing of begins anew."""
        for name, detector in self._kept().items():
            if name in state:
                detector.load_state_dict(state[name])

    def _begin(self) -> None:
        self._incidents = IncidentLog(self._settings)
        self._too_low = TooLowDetector(self._total_steps)
        self._above_start = AboveStartDetector()
        self._rising = RisingDetector()
        self._growing = GrowingDetector()
        self._evaluations = EvalRisingDetector()
        self._mask = MaskDetector()
        self._slow = SlowStepDetector()
        self._throughput = ThroughputDetector()
        self._begin_process()

    def _begin_process(self) -> None:
        """What belongs to the process that trains, and no checkpoint keeps."""
        self._machine = Machine()
        self._near = NearLimitDetector()
        self._host_near = HostNearLimitDetector()
        self._memory = GrowingMemoryDetector(self._total_steps)
        self._host_memory = GrowingMemoryDetector(self._total_steps)
        self._throttled: dict[str, ThrottledDetector] = {}
        self._after: str | None = START
        self._steps_here = 0
        self._last_step: int | None = None

    def _kept(self) -> dict[str, Any]:
        return {
            "incidents": self._incidents,
            "too_low": self._too_low,
            "above_start": self._above_start,
            "rising": self._rising,
            "growing": self._growing,
            "evaluations": self._evaluations,
            "mask": self._mask,
            "slow": self._slow,
            "throughput": self._throughput,
        }

    def _start(self, start: Start) -> list[Alert]:
        """A process begins to train this run: perhaps not the first one."""
        self._left_to_engine = frozenset(start.judged)
        self._slow_paths = start.slow_paths
        if start.total_steps is not None:
            self._total_steps = start.total_steps
        closed = self._incidents.clear_all(*PROCESS_CODES)
        self._begin_process()
        return closed

    def _start_over(self) -> list[Alert]:
        """Steps go back: what was seen of those that are written anew is over."""
        closed = self._incidents.clear_all(*WATCHED)
        self._begin()
        return closed

    def _comes_after(self, what: str | None) -> list[Alert]:
        """The next step comes after something that was none."""
        self._after = what or self._after
        return []

    def _judge_step(self, step: Step) -> list[Alert]:
        found = self._in_numbers(step) | self._in_time(step) | self._in_memory(step)
        self._machine.step_is_over()
        self._after, self._last_step = None, step.step
        if self._incidents.is_quiet and not any(found.values()):
            return []
        return [alert for code, finding in found.items() for alert in self._tell(code, step.step, finding)]

    def _in_numbers(self, step: Step) -> _Found:
        found: _Found = {"GRAD_NORM_GROWS": self._growing.check(step.grad_norm)}
        if step.loss is None or step.skipped:
            return found
        self._evaluations.take_loss(step.loss)
        found["LOSS_TOO_LOW"] = self._too_low.check(step.step, step.loss)
        found["LOSS_ABOVE_START"] = self._above_start.check(step.loss)
        found["LOSS_RISES"] = self._rising.check(step.step, step.loss)
        found["MASK_SHIFTED"] = self._mask.check(step.loss_tokens, step.tokens)
        return found

    def _in_time(self, step: Step) -> _Found:
        self._steps_here += 1
        if self._steps_here <= FIRST_STEPS or not math.isfinite(step.dt) or step.skipped:
            return {}
        around = self._surroundings()
        slow = self._slow.check(step, around)
        compiles = self._settings.get("model.compile")
        low = self._throughput.check(
            step, around, self._expected, self._slow_paths, compiles if isinstance(compiles, bool) else None
        )
        return {"STEP_SLOW": slow.get("STEP_SLOW"), "STALL": slow.get("STALL"), "THROUGHPUT_LOW": low}

    def _surroundings(self) -> Surroundings:
        machine = self._machine
        if self._after is None and not machine.has_told:
            return NOTHING
        return Surroundings(
            self._after, machine.slowed_by, machine.io_pressure, machine.neighbours_gib, machine.cpu_pressure
        )

    def _in_memory(self, step: Step) -> _Found:
        room, host = self._machine.room_for(step), self._machine.host
        left = room - step.mem.peak if room is not None and step.mem.peak is not None else None
        found: _Found = {
            "MEMORY_NEAR_LIMIT": self._near.check(step, room),
            "MEMORY_GROWS": self._memory.check(step.step, step.mem.allocated, left),
        }
        if host is not None:
            found["HOST_MEMORY_GROWS"] = self._host_memory.check(step.step, host.rss, host.memory_available)
        return found

    def _judge_reading(self, t: float, reading: Gpu | Host) -> list[Alert]:
        self._machine.take(t, reading)
        if isinstance(reading, Host):
            return self._tell("HOST_MEMORY_NEAR_LIMIT", self._last_step, self._host_near.check(reading))
        card = self._machine.card
        if card is None or card.uuid != reading.uuid:
            return []
        detector = self._throttled.setdefault(reading.uuid, ThrottledDetector())
        return self._tell("THROTTLED", self._last_step, detector.check(reading))

    def _tell(self, code: str, step: int | None, found: Finding | None) -> list[Alert]:
        """The alert that follows from what a detector sees, if one does."""
        if found is None:
            return self._incidents.clear_all(code)
        if self._incidents.is_open(code) and not found.is_one_more:
            return []
        return [
            self._incidents.touch(
                code,
                step or 0,
                value=found.value,
                baseline=found.baseline,
                rows=found.rows,
                measured=found.measured,
                facts=found.facts,
                words=found.words,
            )
        ]


def judging_all(start: Start) -> Start:
    """The start of a run as the engine's own watch takes it, which leaves nothing to itself."""
    return replace(start, judged=())
