"""A run that a test writes, looked at over a real ssh; all of it is on one machine, and neither side knows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from engine.events import Event, Stamped, Step, encode
from engine.events.columns import StepColumns
from engine.rundir import RunDir, this_process, write_run_info
from pgs_tui.remote.address import Address
from pgs_tui.remote.attaching import attach
from pgs_tui.remote.remote_run import RemoteRun
from pgs_tui.runs.follow import Update
from tests.pgs_tui.making import step
from tests.remote.sshd import HOST

PATIENCE = 30.0


def line_of(event: Event, t: float | None = None) -> bytes:
    return encode(event, time.time() if t is None else t).encode() + b"\n"


def steps(first: int, last: int) -> bytes:
    return b"".join(line_of(step(number), 1000.0 + number) for number in range(first, last + 1))


class FarRun:
    """The run's folder over there, with this process as its engine."""

    def __init__(self, folder: Path, log: bytes | None = b"") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.run = RunDir(folder)
        write_run_info(self.run, this_process(self.run, "a_config"))
        self.run.config_yaml.write_text("train:\n  steps: 10\n")
        self.run.console_log.write_bytes(b"the engine starts\n")
        if log is not None:
            self.write(log)

    def write(self, data: bytes) -> None:
        with self.run.events.open("ab") as file:
            file.write(data)


class Watched:
    """A remote run and all that its follower told, in order, without what was only shown until it came again."""

    def __init__(self, folder: Path) -> None:
        self.source: RemoteRun = attach(Address(HOST, str(folder)))
        self.follower = self.source.follower()
        self.updates: list[Update] = []
        self.events: list[Stamped] = []
        self.steps: list[int] = []
        self.notes: list[str] = []
        self.log: list[str] = []
        self.shown: list[int] = []
        """Steps that were shown before all of the past was there."""

    @property
    def now(self) -> Update:
        return self.updates[-1] if self.updates else Update()

    @property
    def states(self) -> list[str]:
        """The states of the link, each change once."""
        found = [update.link.state for update in self.updates if update.link is not None]
        return [state for place, state in enumerate(found) if place == 0 or state != found[place - 1]]

    def poll(self) -> None:
        for update in self.follower.poll():
            self.updates.append(update)
            self.notes += update.notes
            self.log += update.log
            numbers = list(_steps_of(update))
            if update.survey or update.preview:
                self.shown += numbers
                continue
            self.steps += numbers
            self.events += update.events

    def until(self, holds: Callable[[], bool]) -> None:
        """Poll until it holds; a test that waits in vain fails with what was told last."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"in vain: {self.updates[-1:]}, {self.notes}, steps {self.steps[-5:]}")
            self.poll()
            time.sleep(min(self.follower.pause, 0.02))

    def close(self) -> None:
        self.follower.stop()
        self.source.close()


def _steps_of(update: Update) -> Iterable[int]:
    for block in (*update.columns, *update.events):
        if isinstance(block, StepColumns):
            yield from block.step
        elif isinstance(block, Stamped) and isinstance(block.event, Step):
            yield block.event.step
