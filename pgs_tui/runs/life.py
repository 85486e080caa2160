"""Whether a run's engine lives, as far as can be seen from outside."""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass, field
from typing import Literal

from engine.rundir import RunDir, RunInfo, is_same_process, read_run_info

Life = Literal["starting", "live", "gone", "elsewhere"]


@dataclass
class Engine:
    """The engine of a run: a child of this process, or only known from the run's `run.json`."""

    run: RunDir
    process: subprocess.Popen[bytes] | None = None
    started: float = field(default_factory=time.monotonic)
    patience: float = 60.0
    """Seconds that a run without `run.json`, started elsewhere, may take to show one."""
    info: RunInfo | None = None
    """What `run.json` said last: a disk that fails later does not make the engine unknown."""

    def look(self) -> tuple[Life, int | None]:
        """Whether it lives, and its exit code if it was a child and is gone."""
        exit_code = self.process.poll() if self.process else None
        if self.process and exit_code is None:
            return "live", None
        self.info = read_run_info(self.run) or self.info
        if self.info is not None:
            return self._known(self.info), exit_code
        waiting = self.process is None and time.monotonic() - self.started < self.patience
        return ("starting" if waiting else "gone"), exit_code

    def _known(self, info: RunInfo) -> Life:
        if is_same_process(info):
            return "live"
        return "gone" if _is_here(info) else "elsewhere"


def _is_here(info: RunInfo) -> bool:
    return info.host == socket.gethostname()
