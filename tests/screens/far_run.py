"""A run on another machine without the machine: what it says and does is the test's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.rundir import RunDir
from pgs_tui.remote.remote_run import RemoteRun
from pgs_tui.runs.link_status import LinkStatus
from pgs_tui.runs.source import Ability, LocalRun

NO_PYTHON = "it is read by the Python of me@box: log in there"


class FarRun(LocalRun):
    """`status` is how the link stands, `records` the recorded batches over there by step, `tried` counts `try_now`."""

    where = "me@box"
    address = "me@box:runs/night"  # type: ignore[assignment]
    abilities = RemoteRun.abilities

    def __init__(self, path: Path) -> None:
        super().__init__(RunDir(path), "night")
        self.status = LinkStatus()
        self.records: dict[int, str] = {}
        self.tried = 0

    def become(self, state: str, **fields: object) -> LinkStatus:
        """Let the link stand otherwise."""
        self.status = replace(self.status, state=state, **fields)  # type: ignore[arg-type]
        return self.status

    def why_not(self, ability: Ability) -> str:
        return "" if ability in self.abilities else NO_PYTHON

    def link(self) -> LinkStatus | None:
        return self.status

    def try_now(self) -> None:
        self.tried += 1

    def has_spike(self, step: int) -> bool:
        return step in self.records

    def bring_spike(self, step: int) -> bool:
        if step in self.records:
            self.run.spikes.mkdir(exist_ok=True)
            self.run.spike(step).write_text(self.records[step])
        return step in self.records
