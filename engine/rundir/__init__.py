"""A run is a directory: its layout, how a person names it, and whether its engine lives. Standard library only."""

from engine.durable import replace_text
from engine.rundir.info import RunInfo, read_run_info, run_info_of, this_process, write_run_info
from engine.rundir.judging import (
    LOST_SECONDS,
    QUIET_SECONDS,
    STARTING_SECONDS,
    Ended,
    Liveness,
    ProcessFacts,
    can_be_seen,
    facts_here,
    is_same_process,
    judged,
    last_end,
    liveness,
    why_unreadable,
)
from engine.rundir.layout import RunDir, create_run_dir, is_run_dir
from engine.rundir.naming import RunNotFoundError, has_checkpoint, resolve_run, unfinished_runs
from engine.rundir.processes import boot_id, pid_namespace, process_start
from engine.rundir.registry import RegisteredRun, list_runs, name_of, register_run, registry_path

__all__ = [
    "LOST_SECONDS",
    "QUIET_SECONDS",
    "STARTING_SECONDS",
    "Ended",
    "Liveness",
    "ProcessFacts",
    "RegisteredRun",
    "RunDir",
    "RunInfo",
    "RunNotFoundError",
    "boot_id",
    "can_be_seen",
    "create_run_dir",
    "facts_here",
    "has_checkpoint",
    "is_run_dir",
    "is_same_process",
    "judged",
    "last_end",
    "list_runs",
    "liveness",
    "name_of",
    "pid_namespace",
    "process_start",
    "read_run_info",
    "register_run",
    "registry_path",
    "replace_text",
    "resolve_run",
    "run_info_of",
    "this_process",
    "unfinished_runs",
    "why_unreadable",
    "write_run_info",
]
