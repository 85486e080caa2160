"""Starts an engine that outlives the terminal it was started from."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.rundir import RunDir, create_run_dir, liveness, unfinished_runs

_IGNORE_HANGUP = 'trap "" HUP; exec "$0" "$@"'
"""The shell ignores SIGHUP and becomes the engine, which inherits that.

Safe in a program with threads, unlike a hook after fork.
"""


@dataclass(frozen=True, slots=True)
class Launched:
    """A run and the engine process that this program started for it."""

    run: RunDir
    process: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is to be trained: a config, the overrides from the command line, and what they say about where."""

    config: Path
    overrides: tuple[str, ...]
    name: str
    output_dir: Path
    resume: bool = False
    """True continues the newest unfinished run of this name in its own directory, if there is one."""


def launch(recipe: Recipe, command: Sequence[str] | None = None) -> Launched:
    """Make the run's directory and start the engine in a session of its own, its output in `console.log`.

    `command` replaces `python -m engine` (tests do that). Raises OSError when the directory cannot be made.
    """
    run = (recipe.resume and _unfinished(recipe)) or create_run_dir(recipe.output_dir, recipe.name)
    return _started(run, recipe.config, recipe.overrides, command)


def resume(run: RunDir, command: Sequence[str] | None = None) -> Launched:
    """Go on with a run that has ended, by its own config, in its own directory and under its own name.

    The engine refuses where another one is at work there. Raises OSError when it cannot be started.
    """
    return _started(run, run.config_yaml, ("--train.resume_from", "auto"), command)


def _started(run: RunDir, config: Path, overrides: Sequence[str], command: Sequence[str] | None) -> Launched:
    engine = tuple(command or (sys.executable, "-m", "engine"))
    arguments = ("train", "--config", str(config), "--run-dir", str(run.path), *overrides)
    with open(run.console_log, "ab", opener=_as_open_as_its_folder) as log:
        process = subprocess.Popen(
            ("/bin/sh", "-c", _IGNORE_HANGUP, *engine, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=engine_environment(os.environ),
        )
    return Launched(run, process)


def _as_open_as_its_folder(path: str, flags: int) -> int:
    return os.open(path, flags, Path(path).parent.stat().st_mode & 0o666)


def engine_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a module named `engine` is this project's, whatever the working directory holds."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **environment,
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
    }


def _unfinished(recipe: Recipe) -> RunDir | None:
    candidates = unfinished_runs(recipe.output_dir, recipe.name)
    return next((run for run in candidates if liveness(run) not in ("live", "starting", "elsewhere")), None)
