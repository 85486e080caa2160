"""What an engine was started by, in words: people look for a run where they started it."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.rundir import RunDir

_OTHERS_SERVICES = re.compile(r"(user@\d+|sshd?(@.*)?|cron|docker|containerd)\.service")
"""Services that start shells and containers; to be within one says nothing of the run."""


def started_by(run: RunDir, environment: Mapping[str, str], cgroup: Path = Path("/proc/self/cgroup")) -> str:
    """A Slurm job, a dashboard, a unit of systemd, tmux, screen, nohup or a terminal; empty where nothing tells."""
    if job := environment.get("SLURM_JOB_ID", ""):
        return f"Slurm job {job[:20]}"
    if _writes_its_log_itself(run):
        return "dashboard"
    if unit := _systemd_unit(cgroup):
        return f"systemd unit {unit}"
    if environment.get("TMUX"):
        return "tmux"
    if environment.get("STY"):
        return "screen"
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return "nohup"
    return "terminal" if sys.stdin is not None and sys.stdin.isatty() else ""


def _writes_its_log_itself(run: RunDir) -> bool:
    """Whether stdout is the run's console.log already, as the launcher of the dashboard has it."""
    try:
        return os.path.samestat(os.fstat(1), run.console_log.stat())
    except OSError:
        return False


def _systemd_unit(cgroup: Path) -> str:
    """The service or the scope of `systemd-run` that this process belongs to."""
    try:
        lines = cgroup.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    name = next((line.rpartition("/")[2] for line in lines if line.startswith("0::")), "")
    is_service = name.endswith(".service") and not _OTHERS_SERVICES.fullmatch(name)
    return name if is_service or re.fullmatch(r"run-.*\.scope", name) else ""
