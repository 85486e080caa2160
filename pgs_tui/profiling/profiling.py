"""What the profile screen shows and asks for, between its widgets and the profiler's process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pgs_tui.profiling.measurement import Measurement
from pgs_tui.profiling.settings import Opened, values_given
from pgs_tui.profiling.shapes import Change, GpuChoice, Measured, Profile
from pgs_tui.profiling.what_if import Target, WhatIf
from pgs_tui.serving.client import Answer, Ended, Server

OpenServer = Callable[[], Server]


class Profiling:
    """Takes in answers with `take`; the attributes are what is to be shown.

    One estimate is on its way at a time, and its answer is shown even when something else is asked about by then: the
    bars follow while a key is held down.
    """

    def __init__(self, config: Path, overrides: tuple[str, ...] = (), target: Target | None = None) -> None:
        self.config = config
        self.overrides = overrides
        self.what_if: WhatIf | None = None
        self.profile: Profile | None = None
        """The newest estimate; it stays while the next one is on its way, or cannot be made."""
        self.gpus: tuple[GpuChoice, ...] = ()
        self.measurement = Measurement()
        self.ended: Ended | None = None
        self.problem = ""
        """Why there is no estimate for what is asked about now."""
        self.said = ""
        """Something to tell the person, once."""
        self._target = target or Target()
        self._server: Server | None = None
        self._asked: dict[str, Any] | None = None
        """The question that is on its way."""
        self._shown: dict[str, Any] | None = None
        """The question that `profile` answers."""
        self._advised: dict[str, Any] | None = None
        """The question that the changes of `profile` answer, as far as they were asked for."""
        self._advice_comes = False
        self._measure_comes = False
        """A measurement was asked for, and not answered yet: a look at it would take the place of that question."""

    def start(self, open_server: OpenServer) -> None:
        """Start the process. Raises OSError when it cannot be started."""
        self._server = open_server()
        self.ended = self._asked = self._shown = self._advised = None
        self._advice_comes = self._measure_comes = False
        self._want("gpus", "gpus")
        self.ask()

    def begin(self, opened: Opened) -> None:
        """The config was read: ask about it as it is."""
        self.what_if = WhatIf(opened, self._target)
        self.ask()

    def turn_to(self, config: Path) -> None:
        """Look at another config from now on, which `begin` will tell of."""
        self._target = self.target
        self.config, self.overrides, self.what_if = config, (), None

    def close(self) -> None:
        """End the process."""
        if self._server is not None:
            self._server.close()

    @property
    def pid(self) -> int | None:
        """The process id of the profiler, once it was started."""
        return self._server.pid if self._server else None

    @property
    def target(self) -> Target:
        """The GPU that is asked about."""
        return self.what_if.wanted.target if self.what_if else self._target

    @property
    def targets(self) -> tuple[Target, ...]:
        """The GPUs to choose from: this machine's own, its others, those of the table, and one that was typed."""
        here = [one for one in self.gpus if one.here]
        others = (*here[1:], *(one for one in self.gpus if not one.here))
        known = (Target(), *(Target(one.name) for one in others))
        return known if self._aimed in known else (self._aimed, *known)

    @property
    def gpu_name(self) -> str:
        """What the GPU that is asked about is called: as the profiler calls it, where it has answered about it."""
        params = self.target.params
        if self._shown is None or self.profile is None or any(self._shown[name] != params[name] for name in params):
            return str(self.target)
        if self.target.memory is not None:
            return str(self.target)
        return self.profile.gpu.name if self.profile.gpu else "none here"

    @property
    def _aimed(self) -> Target:
        """The target, under the name that the profiler gave it."""
        return Target(self.gpu_name) if self.target.name is not None else self.target

    def target_after(self, direction: int) -> Target:
        """The next one up (1) or down (-1)."""
        targets = self.targets
        return targets[(targets.index(self._aimed) + direction) % len(targets)]

    @property
    def is_behind(self) -> bool:
        """What is shown is not yet what is asked about."""
        return self._shown != self._question

    @property
    def lacks_advice(self) -> bool:
        """The estimate stands, and which changes would help was not asked yet."""
        return self._shown is not None and not self.is_behind and self._advised != self._shown

    @property
    def measured(self) -> Measured | None:
        """What was measured for the config as it is asked about now."""
        told = self.profile.measured if self.profile and not self.is_behind else None
        return (self.measurement.of(self.what_if.changes) if self.what_if else None) or told

    @property
    def advice(self) -> tuple[Change, ...]:
        """The changes that would help."""
        return self.profile.changes if self.profile else ()

    @property
    def flags(self) -> tuple[str, ...]:
        """What is asked about now, as overrides for a command line."""
        changed = self.what_if.changes if self.what_if else {}
        return (*self.overrides, *(part for key, value in changed.items() for part in (f"--{key}", _as_flag(value))))

    def ask(self) -> None:
        """Ask for the estimate of what is wanted now, unless one is on its way: its answer asks again."""
        question = self._question
        if question == self._shown:
            self.problem = ""
        if question is None or self._asked is not None or question == self._shown:
            return
        self._asked = question
        self._advice_comes = False
        self._forget("changes")
        self._want("estimate", "estimate", **question, changes=False)

    def look_at_gpu(self) -> None:
        """Ask again about the same: what others hold of this machine's own GPU may be more or less by now."""
        profile = self.profile
        if profile is None or profile.gpu is None or not self.target.is_own or self._asked is not None:
            return
        if not self.is_behind and not self._advice_comes and not self.measurement.is_running:
            self._asked = self._shown
            self._want("estimate", "estimate", **(self._asked or {}), changes=False)

    def ask_for_advice(self) -> None:
        """Ask which changes would help; this may take longer than an estimate."""
        if self.lacks_advice and self._shown is not None:
            self._advised, self._advice_comes = self._shown, True
            self._want("changes", "estimate", **self._shown, changes=True)

    def measure(self) -> None:
        """Have a few real steps measured."""
        question = self._question
        if question is not None and self.what_if is not None:
            self.measurement.begin(self.what_if.changes)
            self._measure_comes = True
            self._want("measuring", "measure", config=question["config"], overrides=question["overrides"])

    def look_at_measurement(self) -> None:
        """Ask how far the measurement is, once it is known whether there is one."""
        if not self._measure_comes:
            self._want("measuring", "measuring")

    def stop_measuring(self) -> None:
        """End the measurement."""
        self._measure_comes = False
        self._want("stop", "stop_measuring")
        self._want("measuring", "measuring")

    def take(self, news: Answer | Ended) -> None:
        """Take in what the process said."""
        if isinstance(news, Ended):
            self.ended = news
            self.measurement.end()
        elif news.wish.topic == "estimate":
            self._take_estimate(news)
        elif news.wish.topic == "changes":
            self._take_advice(news)
        elif news.wish.topic == "gpus":
            self.gpus = news.result or ()
        elif news.wish.topic == "measuring":
            self._take_measuring(news)

    def _take_estimate(self, answer: Answer) -> None:
        asked, self._asked = self._asked, None
        if not answer.error:
            if self.profile is not None and answer.result.gpu != self.profile.gpu:
                self._advised = None  # what would help depends on what is free
            self.profile = replace(answer.result, changes=self.advice)  # old ones stay until there is new advice
            self._shown, self.problem = asked, ""
        elif asked == self._question:
            self.problem = answer.error
            return
        if asked != self._question:
            self.ask()

    def _take_advice(self, answer: Answer) -> None:
        self._advice_comes = False
        if self.profile is not None and not answer.error and self._advised == self._shown:
            self.profile = answer.result

    def _take_measuring(self, answer: Answer) -> None:
        self._measure_comes = False
        was_running = self.measurement.is_running
        self.said = self.measurement.take(answer) or self.said
        if was_running and not self.measurement.is_running:
            self._shown = None  # what was measured corrects the estimates of this machine
            self.ask()

    @property
    def _question(self) -> dict[str, Any] | None:
        if self.what_if is None:
            return None
        overrides = {**values_given(self.overrides), **self.what_if.changes}
        return {"config": str(self.config), "overrides": overrides, **self.what_if.wanted.target.params}

    def _want(self, topic: str, method: str, **params: Any) -> None:
        if self._server is not None and self.ended is None:
            self._server.want(topic, method, **params)

    def _forget(self, topic: str) -> None:
        if self._server is not None:
            self._server.forget(topic)


def _as_flag(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
