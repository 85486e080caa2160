"""One engine process at work on one run: where it reports to, and who may ask it to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.events import Event, EventWriter, Phase
from engine.health.advice import with_advice
from engine.health.symptom import Settings
from engine.monitor import Sampler
from engine.rundir import RunDir
from engine.session.answering import Answering
from engine.session.console import Console
from engine.session.control import ControlInbox
from engine.session.failures import Whereabouts
from engine.session.moments import LAST_SAVE, MADE_READY, Moment, moment_of
from engine.session.orders import Orders
from engine.session.readings import Readings
from engine.session.stop import StopSwitch

PROGRESS_SECONDS = 0.25


@dataclass
class Session:
    """What the loop needs of its surroundings; nothing in it knows of models or tensors."""

    run: RunDir
    events: EventWriter
    console: Console
    stop: StopSwitch
    inbox: ControlInbox
    monitor: Sampler
    where: Whereabouts = field(default_factory=Whereabouts)
    now: Callable[[], float] = time.monotonic
    settings: Settings = field(default_factory=dict)
    """The run's own by their full keys, for advice."""
    readings: Readings | None = None
    """The monitor's, for those who judge by them."""
    followers: list[Callable[[Event], None]] = field(default_factory=list)
    """Get each event when it stands in the log."""
    saves_last: bool = False
    """All steps are done, and only the model is still to be saved."""
    _phase: str = ""
    _last_progress: float = 0.0

    def __post_init__(self) -> None:
        self.answer = Answering(self.events, self.console)
        self.orders = Orders(self.inbox, self.stop, self.answer, self.moment)

    def emit(self, event: Event) -> None:
        """Append the event to the run's log; an alert without an advice of its own gets that of the table."""
        event = with_advice(event, self.settings)
        self.events.write(event)
        for follower in self.followers:
            follower(event)

    def say(self, line: str) -> None:
        """Print a line for people."""
        self.console.say(line)

    def phase(self, name: str) -> None:
        """The engine turns to something else."""
        if name != self._phase:
            self._phase, self._last_progress = name, 0.0
            self.emit(Phase(name=name))

    def moment(self) -> Moment:
        """What the run is at, for who is asked something and is not the training itself."""
        if self.saves_last:
            return LAST_SAVE
        return MADE_READY if self.stop.ends_at_once else moment_of(self._phase, self.where.step)

    def progress(self, name: str, done: int, total: int, unit: str) -> None:
        """`done` of `total` units (0: not known) are through; told at most four times a second, and at the end."""
        is_over = total > 0 and done >= total
        if not is_over and self.now() - self._last_progress < PROGRESS_SECONDS:
            return
        self._last_progress = self.now()
        share = min(1.0, done / total) if total else None
        self.emit(Phase(name=name, progress=share, done=done, total=total or None, unit=unit))
