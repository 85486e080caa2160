"""A run is a directory: its layout, how a person names it, and whether its engine lives. Standard library only."""

from engine.durable import replace_text
from engine.rundir.info import RunInfo, read_run_info, this_process, write_run_info
from engine.rundir.judging import STARTING_SECONDS, Liveness, is_same_process, liveness
from engine.rundir.layout import RunDir, create_run_dir, is_run_dir
from engine.rundir.naming import RunNotFoundError, has_checkpoint, resolve_run, unfinished_runs
from engine.rundir.processes import boot_id, process_start
from engine.rundir.registry import RegisteredRun, list_runs, name_of, register_run, registry_path

__all__ = [
    "STARTING_SECONDS",
    "Liveness",
    "RegisteredRun",
    "RunDir",
    "RunInfo",
    "RunNotFoundError",
    "boot_id",
    "create_run_dir",
    "has_checkpoint",
    "is_run_dir",
    "is_same_process",
    "list_runs",
    "liveness",
    "name_of",
    "process_start",
    "read_run_info",
    "register_run",
    "registry_path",
    "replace_text",
    "resolve_run",
    "this_process",
    "unfinished_runs",
    "write_run_info",
]
