"""Whether a run's engine lives, as far as can be seen from outside."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import Literal

from engine.rundir import Liveness, RunDir, RunInfo, facts_here, judged, liveness, read_run_info

Life = Literal["starting", "live", "gone", "elsewhere", "lost", "unknown", "foreign"]
"""`elsewhere`: where this machine cannot look; `lost`: so, and silent for long; `unknown`: what would tell it cannot be
read; `foreign`: a log of another tool.
"""
_LIVES: dict[Liveness, Life] = {"live": "live", "killed": "gone", "elsewhere": "elsewhere", "lost": "lost"}
_WITHOUT_INFO: dict[Liveness, Life] = {"starting": "starting", "unreadable": "unknown"}


@dataclass
class Engine:
    """The engine of a run: a child of this process, or only known from the run's `run.json`."""

    run: RunDir
    process: subprocess.Popen[bytes] | None = None
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
        if self.process is not None:
            return "gone", exit_code
        return _WITHOUT_INFO.get(liveness(self.run), "gone"), None

    def _known(self, info: RunInfo) -> Life:
        return _LIVES[judged(info, facts_here(info.pid), None, self._silent_for())]

    def _silent_for(self) -> float | None:
        """Seconds since the log grew."""
        try:
            return time.time() - self.run.events.stat().st_mtime
        except OSError:
            return None
