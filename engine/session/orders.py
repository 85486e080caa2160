"""What people ask of a run on its way from `control.jsonl` to who does it.

The training looks between two steps, between two batches of an evaluation, and while it is paused. Where it does not
come to that for a while, because it loads, compiles, saves, or because its step is long, the monitor's thread looks
instead, so that nobody waits for an answer. To stop, to pause and to go on are wishes which either may take; the rest
is work for the training's own thread, and is promised.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from engine.events.control_line import Command, Refused
from engine.session.control import ControlInbox
from engine.session.moments import Moment
from engine.session.stop import StopSwitch

PATIENCE_SECONDS = 1.5
"""The training has not looked for so long: the monitor does."""
TOO_LATE = "all steps are done: the run ends with its last save"
_LAST_LOOKS = 100
"""Looks at the end, each of which takes only some lines: who never ceases to ask does not keep a run from its end."""
_PROMISES = {"checkpoint": "saves", "evaluate": "evaluates", "scale_lr": "changes the learning rate"}


class Answer(Protocol):
    """Tells everybody what comes of a command; `later` says that another answer to it follows."""

    def __call__(self, asked: Command | Refused, ok: bool, message: str, later: bool = False) -> None: ...


class Orders:
    """The commands of one run in their order, each to be done once. `moment` tells what the run is at."""

    def __init__(
        self,
        inbox: ControlInbox,
        stop: StopSwitch,
        answer: Answer,
        moment: Callable[[], Moment],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inbox = inbox
        self._stop = stop
        self._answer = answer
        self._moment = moment
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[Command] = deque()
        self._deferred: deque[Command] = deque()
        self._looked = clock()
        self._has_pause = False

    @property
    def is_to_pause(self) -> bool:
        """True while the run is to wait until somebody lets it go on, or stops it."""
        return self._has_pause and self._stop.reason is None

    def look(self) -> None:
        """By the training's thread: see what is new. Costs the opening of a small file."""
        with self._lock:
            for asked in self._inbox.poll():
                if isinstance(asked, Refused):
                    self._answer(asked, False, asked.why)
                else:
                    self._waiting.append(asked)
            self._looked = self._clock()

    def next(self, deferred: bool = True) -> Command | None:
        """By the training's thread: what is to be done next, if anything; what was deferred only with `deferred`."""
        with self._lock:
            if deferred and self._deferred:
                return self._deferred.popleft()
            return self._waiting.popleft() if self._waiting else None

    def defer(self, command: Command, message: str) -> None:
        """Promise to do the command where `next` gives out what was deferred."""
        self._deferred.append(command)
        self._answer(command, True, message, later=True)

    def look_instead(self) -> None:
        """By the monitor's thread: where the training does not come to it, take wishes and promise the rest."""
        with self._lock:
            if self._clock() - self._looked < PATIENCE_SECONDS:
                return
            for asked in self._inbox.poll():
                if isinstance(asked, Refused):
                    self._answer(asked, False, asked.why)
                elif asked.cmd in _PROMISES and not self._moment().later:
                    self._answer(asked, False, TOO_LATE)
                elif asked.cmd in _PROMISES:
                    self._waiting.append(asked)
                    self._answer(asked, True, f"{_PROMISES[asked.cmd]} {self._moment().later}", later=True)
                else:
                    self.take_wish(asked, self._moment(), is_paused=False)

    def take_wish(self, command: Command, moment: Moment, is_paused: bool) -> None:
        """Note that somebody wants the run to stop, to pause or to go on, and answer."""
        match command.cmd:
            case "stop":
                already = f"is stopping already ({self._stop.reason}): " if self._stop.reason is not None else ""
                self._answer(command, True, f"{already}stops {moment.stops}")
                self._stop.request(f"asked to stop by {command.by}")
            case "pause" if self._stop.reason is not None:
                self._answer(command, False, f"is stopping ({self._stop.reason})")
            case "pause" if not moment.pauses:
                self._answer(command, False, TOO_LATE)
            case "pause":
                self._answer(command, True, self._words_of_pause(moment, is_paused))
                self._has_pause = True
            case "resume":
                self._answer(command, True, f"goes on {moment.goes_on}" if self._has_pause else "the run is not paused")
                self._has_pause = False

    def _words_of_pause(self, moment: Moment, is_paused: bool) -> str:
        if is_paused:
            return f"is paused already, {moment.pauses}"
        return f"{'is to pause already: ' if self._has_pause else ''}pauses {moment.pauses}"

    def refuse_rest(self) -> None:
        """Answer everything that is not done: the run is over."""
        for _ in range(_LAST_LOOKS):
            self.look()
            if (command := self.next()) is None:
                return
            while command is not None:
                self._answer(command, False, "the run is over")
                command = self.next()
