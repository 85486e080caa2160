"""The processes of this machine, as far as a run.json names them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def boot_id() -> str:
    """Tells this boot of the machine from any other; empty where the system has no such name."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    """Tells the numbers of processes that this process sees from those of a container; empty where there is no such."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def process_start(pid: int) -> str | None:
    """When the process was started, in the system's own terms; None when there is none or it is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None if Path("/proc/self/stat").exists() else _process_start_by_ps(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _process_start_by_ps(pid: int) -> str | None:
    if not shutil.which("ps"):
        return None
    same_for_all = {**os.environ, "LC_ALL": "C", "TZ": "UTC0"}  # whoever asks, from wherever, must get the same text
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=same_for_all)
    return answer.stdout.strip() or None
