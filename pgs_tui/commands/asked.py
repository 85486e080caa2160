"""What all commands ask of the arguments and of the terminal."""

from __future__ import annotations

import os
import sys

from pgs_tui.appearance.look import Look, look_of
from pgs_tui.arguments import Arguments, UsageError
from pgs_tui.waking import Waking

ROW_IS_FOR_INSPECT = "--row belongs to inspect: pgs-tui inspect CONFIG --row 12"
GPU_IS_FOR_PROFILE = "--gpu and --gpu_memory_gb belong to profile: pgs-tui profile CONFIG --gpu a100-40"
READONLY_IS_FOR_WATCHING = "--readonly belongs to attach and runs: pgs-tui attach RUN --readonly"
FORGET_IS_FOR_RUNS = "--forget belongs to runs, and takes nothing else: pgs-tui runs --forget"
SPEED_IS_FOR_REPLAY = "--speed belongs to replay: pgs-tui replay RUN --speed 60"
AT_IS_FOR_THE_PAST = "--at belongs to replay, --once and export: pgs-tui replay RUN --at 1200"
WAKING_IS_FOR_RUNS = (
    "--bell and --on-critical belong to a run on the screen; without one: pgs monitor RUN --follow --bell"
)


def has_screen() -> bool:
    """True with a terminal at both ends that understands more than text."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return os.environ.get("TERM", "") not in ("", "dumb") and all(stream and stream.isatty() for stream in streams)


def look_for(arguments: Arguments) -> Look:
    """How it is drawn here."""
    encoding = sys.stdout.encoding or "ascii"
    return look_of(os.environ, encoding, arguments.theme, arguments.mouse)


def waking_for(arguments: Arguments) -> Waking:
    """What happens when something critical does: by flag, else by environment."""
    rings = arguments.bell or os.environ.get("PGS_TUI_BELL", "") not in ("", "0")
    return Waking(rings, arguments.on_critical or os.environ.get("PGS_TUI_ON_CRITICAL") or None)


def refuse_waking_without_a_run(arguments: Arguments) -> None:
    """Raises UsageError where nobody would be woken."""
    has_none = arguments.plain or arguments.once or arguments.words[:1] in (["inspect"], ["export"])
    is_shown = not has_none and has_screen()
    if (arguments.bell or arguments.on_critical) and not is_shown:
        raise UsageError(WAKING_IS_FOR_RUNS)


def refuse_options_of_others(arguments: Arguments) -> None:
    """Raises UsageError for an option that this command has not."""
    command = arguments.words[0] if arguments.words else ""
    if arguments.readonly and command not in ("attach", "runs"):
        raise UsageError(READONLY_IS_FOR_WATCHING)
    if arguments.forget and command != "runs":
        raise UsageError(FORGET_IS_FOR_RUNS)
    if arguments.speed is not None and command != "replay":
        raise UsageError(SPEED_IS_FOR_REPLAY)
    if arguments.at is not None and not (command in ("replay", "export") or arguments.once):
        raise UsageError(AT_IS_FOR_THE_PAST)


def refuse_two_gpus(arguments: Arguments) -> None:
    """Raises UsageError where the GPU is named in two ways."""
    if arguments.gpu is not None and arguments.gpu_memory is not None:
        raise UsageError("--gpu and --gpu_memory_gb both name the GPU; give one of them")
