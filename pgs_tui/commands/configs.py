"""Commands about configs: training one, listing them, their data, their memory."""

from __future__ import annotations

import sys
from pathlib import Path

from pgs_tui.arguments import Arguments, UsageError
from pgs_tui.commands.asked import ROW_IS_FOR_INSPECT, has_screen, look_for, refuse_two_gpus, waking_for
from pgs_tui.goals import InspectData, PickConfig, ProfileConfig, StartConfig
from pgs_tui.showing import show

TEXT_HAS_NO_MEMORY = "the list of configs as text tells no memory: pgs profile --config CONFIG --gpu NAME tells one's"


def train_command(arguments: Arguments) -> int:
    """Train a config and watch it."""
    from pgs_tui.configs import find_config, short_name

    if arguments.row is not None:
        raise UsageError(ROW_IS_FOR_INSPECT)
    if len(arguments.words) > 1:
        raise UsageError(f"one config at a time: found {' and '.join(arguments.words)}")
    config = find_config(arguments.words[0] if arguments.words else None)
    overrides = tuple(arguments.overrides)
    if arguments.plain or not has_screen():
        from pgs_tui.plain import train

        train(config, overrides)
    return show(StartConfig(config, overrides, short_name(config)), look_for(arguments), waking=waking_for(arguments))


def pick_command(arguments: Arguments) -> int:
    """List the configs that there are."""
    if arguments.row is not None:
        raise UsageError(ROW_IS_FOR_INSPECT)
    refuse_two_gpus(arguments)
    here = _working_directory()
    if arguments.plain or not has_screen():
        if arguments.gpu is not None or arguments.gpu_memory is not None:
            raise UsageError(TEXT_HAS_NO_MEMORY)
        from pgs_tui.configs import configs_folder
        from pgs_tui.picking.as_text import print_configs

        code = print_configs(here, configs_folder(), sys.stdout)
        sys.stdout.flush()
        return code
    from pgs_tui.picking.folders import folder_name

    goal = PickConfig(here, folder_name(here), arguments.gpu, arguments.gpu_memory)
    return show(goal, look_for(arguments), waking=waking_for(arguments))


def inspect_command(arguments: Arguments) -> int:
    """Look at the data of a config or a run."""
    if len(arguments.words) > 2:
        raise UsageError(f"one config or run at a time: found {' and '.join(arguments.words[1:])}")
    chosen, name = _data_of(arguments.words[1] if len(arguments.words) > 1 else None)
    chosen += tuple(arguments.overrides)
    if arguments.plain or not has_screen():
        from pgs_tui.plain import inspect

        inspect(chosen, arguments.row, arguments.plain)
    return show(InspectData(chosen, name, arguments.row), look_for(arguments))


def profile_command(arguments: Arguments) -> int:
    """See what a config takes of a GPU."""
    from pgs_tui.configs import short_name

    if arguments.row is not None:
        raise UsageError(ROW_IS_FOR_INSPECT)
    if len(arguments.words) > 2:
        raise UsageError(f"one config or run at a time: found {' and '.join(arguments.words[1:])}")
    refuse_two_gpus(arguments)
    config = _config_of(arguments.words[1] if len(arguments.words) > 1 else None)
    overrides = tuple(arguments.overrides)
    if arguments.plain or not has_screen():
        from pgs_tui.plain import profile

        profile(config, arguments.gpu, arguments.gpu_memory, overrides, arguments.plain)
    goal = ProfileConfig(config, overrides, short_name(config), arguments.gpu, arguments.gpu_memory)
    return show(goal, look_for(arguments), waking=waking_for(arguments))


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the folder you are in is gone; go to another one") from None


def _config_of(text: str | None) -> Path:
    """The config that is meant, or that of a run."""
    chosen, _ = _data_of(text)
    if chosen[0] == "--config":
        return Path(chosen[1])
    from engine.rundir import RunDir

    return RunDir(Path(chosen[1])).config_yaml


def _data_of(text: str | None) -> tuple[tuple[str, ...], str]:
    """Whose data is meant, as `pgs inspect` wants to be told, and its name: a config, else a run."""
    from pgs_tui.configs import ConfigNotFoundError, find_config, short_name

    try:
        config = find_config(text)
    except ConfigNotFoundError:
        from engine.rundir import RunNotFoundError, resolve_run

        try:
            run = resolve_run(text or "")
        except RunNotFoundError:
            run = None
        if run is None:
            raise
        return ("--run", str(run.path)), run.id
    return ("--config", str(config)), short_name(config)
