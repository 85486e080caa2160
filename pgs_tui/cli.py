"""The command `pgs-tui`: arguments to a screen. Imports nothing heavy before it knows that it must."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.arguments import HELP, Arguments, UsageError, parse
from pgs_tui.goals import (
    SILENT,
    Attach,
    Compare,
    CompareRuns,
    Goal,
    InspectData,
    ListRuns,
    Opened,
    PickConfig,
    ProfileConfig,
    Replay,
    StartConfig,
    Waking,
)
from pgs_tui.look import Look, look_of

if TYPE_CHECKING:
    from pgs_tui.app import Starter
    from pgs_tui.themed_app import Goodbye, ThemedApp

SWITCH_SECONDS = 0.001
"""How long the thread that reads a run's log may keep the screen's thread waiting; Python's own 5 ms would be felt."""
FRAMES_A_SECOND = "250"
"""A key is answered within 4 ms of a frame, and not after Textual's 17. What changes is still shown when it changes."""

ROW_IS_FOR_INSPECT = "--row belongs to inspect: pgs-tui inspect CONFIG --row 12"
GPU_IS_FOR_PROFILE = "--gpu and --gpu_memory_gb belong to profile: pgs-tui profile CONFIG --gpu a100-40"

READONLY_IS_FOR_WATCHING = "--readonly belongs to attach and runs: pgs-tui attach RUN --readonly"
PLAYING_IS_FOR_REPLAY = "--speed and --at belong to replay: pgs-tui replay RUN --speed 60 --at 1200"
MOST_COMPARED = 6

WAKING_IS_FOR_RUNS = (
    "--bell and --on-critical belong to a run on the screen; without one: pgs monitor RUN --follow --bell"
)

TEXT_HAS_NO_MEMORY = "the list of configs as text tells no memory: pgs profile --config CONFIG --gpu NAME tells one's"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    _forgive_encoding()
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        if arguments.only:
            return _only(arguments.only)
        _refuse_waking_without_a_run(arguments)
        _refuse_options_of_others(arguments)
        if arguments.words[:1] == ["runs"]:
            return _runs(arguments)
        if arguments.once or arguments.json:
            return _once(arguments)
        if arguments.words[:1] == ["export"] or arguments.export_as:
            return _export(arguments)
        if arguments.words[:1] == ["profile"]:
            return _profile(arguments)
        if not arguments.words and not arguments.overrides:
            return _pick(arguments)
        if arguments.gpu is not None or arguments.gpu_memory is not None:
            raise UsageError(GPU_IS_FOR_PROFILE)
        if arguments.words[:1] == ["attach"]:
            return _attach(arguments)
        if arguments.words[:1] == ["compare"]:
            return _compare(arguments)
        if arguments.words[:1] == ["replay"]:
            return _replay(arguments)
        if arguments.words[:1] == ["inspect"]:
            return _inspect(arguments)
        return _train(arguments)
    except ValueError as error:
        print(f"pgs-tui: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough; what still waits to be written would fail again at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0


def _only(what: str) -> int:
    if what == "--help":
        print(HELP, end="")
    elif what == "--version":
        from importlib.metadata import version

        print(f"pgs-tui {version('pgs-tui')}")
    else:
        return _reset()
    return 0


def _reset() -> int:
    from pgs_tui.terminal import reset_terminal

    try:
        reset_terminal()
    except OSError as error:
        print(f"pgs-tui: there is no terminal to reset: {error}", file=sys.stderr)
        return 1
    return 0


def _train(arguments: Arguments) -> int:
    from pgs_tui.configs import find_config, short_name

    if arguments.row is not None:
        raise UsageError(ROW_IS_FOR_INSPECT)
    if len(arguments.words) > 1:
        raise UsageError(f"one config at a time: found {' and '.join(arguments.words)}")
    config = find_config(arguments.words[0] if arguments.words else None)
    overrides = tuple(arguments.overrides)
    if arguments.plain or not _has_screen():
        from pgs_tui.plain import train

        train(config, overrides)
    return show(StartConfig(config, overrides, short_name(config)), _look(arguments), waking=_waking(arguments))


def _pick(arguments: Arguments) -> int:
    if arguments.row is not None:
        raise UsageError(ROW_IS_FOR_INSPECT)
    _refuse_two_gpus(arguments)
    here = _working_directory()
    if arguments.plain or not _has_screen():
        if arguments.gpu is not None or arguments.gpu_memory is not None:
            raise UsageError(TEXT_HAS_NO_MEMORY)
        from pgs_tui.configs import configs_folder
        from pgs_tui.picking.as_text import print_configs

        code = print_configs(here, configs_folder(), sys.stdout)
        sys.stdout.flush()
        return code
    from pgs_tui.picking.folders import folder_name

    goal = PickConfig(here, folder_name(here), arguments.gpu, arguments.gpu_memory)
    return show(goal, _look(arguments), waking=_waking(arguments))


def _attach(arguments: Arguments) -> int:
    words = arguments.words[1:]
    if len(words) > 1 or arguments.overrides or arguments.row is not None:
        raise UsageError("attach takes one run and nothing else: pgs-tui attach [RUN]")
    if arguments.plain or not _has_screen():
        from pgs_tui.opening import source_at_once
        from pgs_tui.plain import watch

        return watch(source_at_once(words[0] if words else None), sys.stdout)
    goal = Attach(words[0] if words else None, arguments.readonly)
    return show(goal, _look(arguments), waking=_waking(arguments))


def _runs(arguments: Arguments) -> int:
    if len(arguments.words) > 2 or arguments.overrides or arguments.row is not None or arguments.once:
        raise UsageError("runs takes one folder and nothing else: pgs-tui runs [DIR | USER@HOST:DIR] [--json]")
    folder = arguments.words[1] if len(arguments.words) > 1 else None
    if arguments.plain or arguments.json or not _has_screen():
        from pgs_tui.listing.as_text import print_runs

        return print_runs(folder, sys.stdout, arguments.json)
    from pgs_tui.listing.opening import connect
    from pgs_tui.listing.where import folder_of

    connect(folder_of(folder))
    return show(ListRuns(folder, arguments.readonly), _look(arguments), waking=_waking(arguments))


def _compare(arguments: Arguments) -> int:
    runs = tuple(arguments.words[1:])
    if not 2 <= len(runs) <= MOST_COMPARED or arguments.overrides or arguments.row is not None:
        raise UsageError(f"compare takes two to {MOST_COMPARED} runs and nothing else: pgs-tui compare RUN RUN ...")
    if arguments.plain or not _has_screen():
        raise UsageError("compare needs a terminal to draw on")
    return show(Compare(runs), _look(arguments), waking=_waking(arguments))


def _replay(arguments: Arguments) -> int:
    if len(arguments.words) != 2 or arguments.overrides or arguments.row is not None:
        raise UsageError("replay takes one run: pgs-tui replay RUN [--speed N] [--at STEP]")
    if arguments.plain or not _has_screen():
        raise UsageError("replay needs a terminal to draw on; pgs-tui --once RUN prints it as it was at its end")
    goal = Replay(arguments.words[1], arguments.speed, arguments.at)
    return show(goal, _look(arguments), waking=_waking(arguments))


def _once(arguments: Arguments) -> int:
    words = arguments.words[1:] if arguments.words[:1] == ["attach"] else arguments.words
    if not arguments.once:
        raise UsageError("--json belongs to --once: pgs-tui --once [RUN] --json")
    if len(words) > 1 or arguments.overrides or arguments.row is not None:
        raise UsageError("--once takes one run and nothing else: pgs-tui --once [RUN]")
    from pgs_tui.once import print_once
    from pgs_tui.opening import source_at_once

    source = source_at_once(words[0] if words else None)
    return print_once(source, _look(arguments), arguments.json, sys.stdout, os.environ)


def _export(arguments: Arguments) -> int:
    usage = "pgs-tui export [RUN] --svg | --text | --csv | --gpus | --markdown [--panel NAME] [--out FILE]"
    if arguments.words[:1] != ["export"]:
        raise UsageError(f"--{arguments.export_as} belongs to export: {usage}")
    if arguments.export_as is None or len(arguments.words) > 2 or arguments.overrides or arguments.row is not None:
        raise UsageError(f"export takes one run and one format: {usage}")
    from pgs_tui.export.command import export
    from pgs_tui.opening import source_at_once

    source = source_at_once(arguments.words[1] if len(arguments.words) > 1 else None)
    return export(source, arguments.export_as, arguments.panel, arguments.out, _look(arguments), sys.stdout)


def _inspect(arguments: Arguments) -> int:
    if len(arguments.words) > 2:
        raise UsageError(f"one config or run at a time: found {' and '.join(arguments.words[1:])}")
    chosen, name = _data_of(arguments.words[1] if len(arguments.words) > 1 else None)
    chosen += tuple(arguments.overrides)
    if arguments.plain or not _has_screen():
        from pgs_tui.plain import inspect

        inspect(chosen, arguments.row, arguments.plain)
    return show(InspectData(chosen, name, arguments.row), _look(arguments))


def _profile(arguments: Arguments) -> int:
    from pgs_tui.configs import short_name

    if arguments.row is not None:
        raise UsageError(ROW_IS_FOR_INSPECT)
    if len(arguments.words) > 2:
        raise UsageError(f"one config or run at a time: found {' and '.join(arguments.words[1:])}")
    _refuse_two_gpus(arguments)
    config = _config_of(arguments.words[1] if len(arguments.words) > 1 else None)
    overrides = tuple(arguments.overrides)
    if arguments.plain or not _has_screen():
        from pgs_tui.plain import profile

        profile(config, arguments.gpu, arguments.gpu_memory, overrides, arguments.plain)
    goal = ProfileConfig(config, overrides, short_name(config), arguments.gpu, arguments.gpu_memory)
    return show(goal, _look(arguments), waking=_waking(arguments))


def _refuse_waking_without_a_run(arguments: Arguments) -> None:
    has_none = arguments.plain or arguments.once or arguments.words[:1] in (["inspect"], ["export"])
    is_shown = not has_none and _has_screen()
    if (arguments.bell or arguments.on_critical) and not is_shown:
        raise UsageError(WAKING_IS_FOR_RUNS)


def _refuse_options_of_others(arguments: Arguments) -> None:
    command = arguments.words[0] if arguments.words else ""
    if arguments.readonly and command not in ("attach", "runs"):
        raise UsageError(READONLY_IS_FOR_WATCHING)
    if (arguments.speed is not None or arguments.at is not None) and command != "replay":
        raise UsageError(PLAYING_IS_FOR_REPLAY)


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the folder you are in is gone; go to another one") from None


def _refuse_two_gpus(arguments: Arguments) -> None:
    if arguments.gpu is not None and arguments.gpu_memory is not None:
        raise UsageError("--gpu and --gpu_memory_gb both name the GPU; give one of them")


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


def _forgive_encoding() -> None:
    """A character that the terminal's encoding lacks must not end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _has_screen() -> bool:
    """True with a terminal at both ends that understands more than text."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return os.environ.get("TERM", "") not in ("", "dumb") and all(stream and stream.isatty() for stream in streams)


def _look(arguments: Arguments) -> Look:
    encoding = sys.stdout.encoding or "ascii"
    return look_of(os.environ, encoding, arguments.theme, arguments.mouse)


def _waking(arguments: Arguments) -> Waking:
    """What happens when something critical does: by flag, else by environment."""
    rings = arguments.bell or os.environ.get("PGS_TUI_BELL", "") not in ("", "0")
    return Waking(rings, arguments.on_critical or os.environ.get("PGS_TUI_ON_CRITICAL") or None)


def show(goal: Goal, look: Look, start: Starter | None = None, waking: Waking = SILENT) -> int:
    """Open it on the terminal, then what is chosen there, and return the exit code once the person has left.

    `start` and `waking` as for PgsApp.
    """
    goodbye, exit_code = _shown(_opened(goal), look, start, waking)
    while goodbye and goodbye.next:
        goodbye, exit_code = _shown(_opened_or_back(goodbye.next), look, start, waking)
    if goodbye and goodbye.refused:
        print(goodbye.refused, file=sys.stderr)
    if goodbye and goodbye.farewell:
        print(goodbye.farewell)
    return exit_code


def _opened(goal: Goal) -> Opened:
    if not isinstance(goal, Attach | Replay | Compare):
        return goal
    from pgs_tui.opening import opened

    return opened(goal)


def _opened_or_back(goal: Goal) -> Opened:
    """What was chosen on a screen; where that cannot be opened, the list it was chosen from, which says why."""
    try:
        return _opened(goal)
    except ValueError as error:
        back = goal.back if isinstance(goal, Attach | Replay | Compare) else None
        if not isinstance(back, ListRuns):
            raise
        return replace(back, note=str(error))


def _shown(goal: Opened, look: Look, start: Starter | None, waking: Waking) -> tuple[Goodbye | None, int]:
    """Open one application, and return how it ended."""
    from pgs_tui.splash import splash
    from pgs_tui.terminal import TerminalGuard

    gc.disable()  # a collection amid the start only delays the first frame; the app switches it on again
    sys.setswitchinterval(SWITCH_SECONDS)
    os.environ.setdefault("TEXTUAL_FPS", FRAMES_A_SECOND)  # read when Textual is imported
    with TerminalGuard() as terminal:
        columns, rows = os.get_terminal_size(sys.__stdout__.fileno()) if sys.__stdout__ else (80, 24)
        true_colour = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
        terminal.write(splash(columns, rows, goal.name, goal.first_words, look, true_colour, goal.screen))
        app = _app(goal, look, start, waking)
        goodbye = app.run(mouse=look.mouse)
    return goodbye, goodbye.exit_code if goodbye else app.return_code or 0


def _app(goal: Opened, look: Look, start: Starter | None, waking: Waking) -> ThemedApp:
    if isinstance(goal, InspectData):
        from pgs_tui.inspect_app import InspectApp

        return InspectApp(goal, look)
    if isinstance(goal, ProfileConfig):
        from pgs_tui.profile_app import ProfileApp

        return ProfileApp(goal, look)
    if isinstance(goal, PickConfig):
        from pgs_tui.picker_app import PickerApp

        return PickerApp(goal, look)
    if isinstance(goal, CompareRuns):
        from pgs_tui.compare_app import CompareApp

        return CompareApp(goal, look)
    if isinstance(goal, ListRuns):
        from pgs_tui.runs_app import RunsApp

        return RunsApp(goal, look)
    from pgs_tui.app import PgsApp

    return PgsApp(goal, look, start, waking)


if __name__ == "__main__":
    sys.exit(main())
