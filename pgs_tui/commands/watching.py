"""Commands about runs: watched, listed, compared, played, printed, exported."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pgs_tui.arguments import Arguments, UsageError
from pgs_tui.commands.asked import FORGET_IS_FOR_RUNS, has_screen, look_for, waking_for
from pgs_tui.goals import Attach, Compare, ListRuns, Replay
from pgs_tui.showing import show

if TYPE_CHECKING:
    from pgs_tui.runs.source import Source

MOST_COMPARED = 6


def attach_command(arguments: Arguments) -> int:
    """Watch a run."""
    words = arguments.words[1:]
    if len(words) > 1 or arguments.overrides or arguments.row is not None:
        raise UsageError("attach takes one run and nothing else: pgs-tui attach [RUN]")
    if arguments.plain or not has_screen():
        from pgs_tui.opening import source_at_once
        from pgs_tui.plain import watch

        return watch(source_at_once(words[0] if words else None), sys.stdout)
    goal = Attach(words[0] if words else None, arguments.readonly)
    return show(goal, look_for(arguments), waking=waking_for(arguments))


def runs_command(arguments: Arguments) -> int:
    """List all runs below a folder."""
    if len(arguments.words) > 2 or arguments.overrides or arguments.row is not None or arguments.once:
        raise UsageError("runs takes one folder and nothing else: pgs-tui runs [DIR | USER@HOST:DIR] [--json]")
    if arguments.forget:
        return _forget(arguments)
    folder = arguments.words[1] if len(arguments.words) > 1 else None
    if arguments.plain or arguments.json or not has_screen():
        from pgs_tui.listing.as_text import print_runs

        return print_runs(folder, sys.stdout, arguments.json)
    from pgs_tui.listing.opening import connect
    from pgs_tui.listing.where import folder_of

    connect(folder_of(folder))
    return show(ListRuns(folder, arguments.readonly), look_for(arguments), waking=waking_for(arguments))


def _forget(arguments: Arguments) -> int:
    """Remove what is kept here of runs on other machines."""
    if len(arguments.words) > 1 or arguments.json or arguments.readonly:
        raise UsageError(FORGET_IS_FOR_RUNS)
    from pgs_tui.commands.forgetting import print_forgotten

    return print_forgotten(sys.stdout)


def compare_command(arguments: Arguments) -> int:
    """Lay runs over each other, on a screen, printed once, or in a file."""
    runs = tuple(arguments.words[1:])
    others = (arguments.row, arguments.gpu, arguments.gpu_memory)
    has_others = arguments.json or arguments.overrides or any(one is not None for one in others)
    if not 2 <= len(runs) <= MOST_COMPARED or has_others:
        raise UsageError(f"compare takes 2 to {MOST_COMPARED} runs and nothing else: pgs-tui compare RUN RUN ...")
    if arguments.export_as or arguments.once or arguments.plain or not has_screen():
        from pgs_tui.comparing.command import export_comparison, print_comparison
        from pgs_tui.opening import compared_at_once

        sources, look = compared_at_once(runs), look_for(arguments)
        if arguments.export_as is None:
            return print_comparison(sources, look, sys.stdout)
        return export_comparison(sources, arguments.export_as, arguments.panel, arguments.out, look, sys.stdout)
    return show(Compare(runs), look_for(arguments), waking=waking_for(arguments))


def replay_command(arguments: Arguments) -> int:
    """Play a run that is over."""
    if len(arguments.words) != 2 or arguments.overrides or arguments.row is not None:
        raise UsageError("replay takes one run: pgs-tui replay RUN [--speed N] [--at STEP]")
    if arguments.plain or not has_screen():
        raise UsageError("replay needs a terminal to draw on; pgs-tui --once RUN --at STEP prints it as it was then")
    goal = Replay(arguments.words[1], arguments.speed, arguments.at)
    return show(goal, look_for(arguments), waking=waking_for(arguments))


def once_command(arguments: Arguments) -> int:
    """Print a run as it is now, or as it was."""
    words = arguments.words[1:] if arguments.words[:1] in (["attach"], ["replay"]) else arguments.words
    if not arguments.once:
        raise UsageError("--json belongs to --once: pgs-tui --once [RUN] --json")
    if len(words) > 1 or arguments.overrides or arguments.row is not None:
        raise UsageError("--once takes one run and nothing else: pgs-tui --once [RUN]")
    from pgs_tui.once import print_once

    source = _source(words[0] if words else None, arguments.at)
    return print_once(source, look_for(arguments), arguments.json, sys.stdout, os.environ)


def export_command(arguments: Arguments) -> int:
    """Write what a run shows into a file."""
    usage = "pgs-tui export [RUN] --svg | --text | --csv | --gpus | --markdown [--panel NAME] [--out FILE]"
    if arguments.words[:1] != ["export"]:
        raise UsageError(f"--{arguments.export_as} belongs to export: {usage}")
    if arguments.export_as is None or len(arguments.words) > 2 or arguments.overrides or arguments.row is not None:
        raise UsageError(f"export takes one run and one format: {usage}")
    from pgs_tui.export.command import export

    source = _source(arguments.words[1] if len(arguments.words) > 1 else None, arguments.at)
    return export(source, arguments.export_as, arguments.panel, arguments.out, look_for(arguments), sys.stdout)


def _source(run: str | None, at: int | None) -> Source:
    """The run as it is now, or as it was when it had taken the step `at`."""
    from pgs_tui.opening import as_it_was, source_at_once

    return source_at_once(run) if at is None else as_it_was(run, at)
