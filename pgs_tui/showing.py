"""One screen after the other on the terminal, until the person has left."""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from pgs_tui.appearance.look import Look
from pgs_tui.format import plain_lines
from pgs_tui.goals import (
    Attach,
    AttachTo,
    Compare,
    CompareRuns,
    Goal,
    InspectData,
    ListRuns,
    Opened,
    PickConfig,
    ProfileConfig,
    Replay,
)
from pgs_tui.waking import SILENT, Waking

if TYPE_CHECKING:
    from pgs_tui.apps.dashboard import Starter
    from pgs_tui.apps.themed import Goodbye, ThemedApp
    from pgs_tui.runs.source import Source

SWITCH_SECONDS = 0.001
"""How long the thread that reads a run's log may keep the screen's thread waiting; Python's own 5 ms would be felt."""
FRAMES_A_SECOND = "250"
"""A key is answered within 4 ms of a frame, and not after Textual's 17. What changes is still shown when it changes."""


def show(goal: Goal, look: Look, start: Starter | None = None, waking: Waking = SILENT) -> int:
    """Open it on the terminal, then what is chosen there, and return the exit code once the person has left.

    `start` and `waking` as for PgsApp.
    """
    os.environ.setdefault("TEXTUAL_FPS", FRAMES_A_SECOND)  # read when Textual is imported
    goodbye, exit_code = _shown(_opened(goal), look, start, waking)
    while goodbye and goodbye.next:
        goodbye, exit_code = _shown(_opened_or_back(goodbye.next), look, start, waking)
    if goodbye and goodbye.refused:
        print(plain_lines(goodbye.refused), file=sys.stderr)
    if goodbye and goodbye.farewell:
        print(plain_lines(goodbye.farewell))
    return exit_code


def _opened(goal: Goal) -> Opened:
    if not isinstance(goal, Attach | Replay | Compare):
        return goal
    from pgs_tui.opening import is_elsewhere, opened

    if isinstance(goal, Attach | Replay) and is_elsewhere(goal.run):
        from pgs_tui.ahead import import_dashboard

        import_dashboard()
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
    from pgs_tui.appearance.first_hints import first_hints
    from pgs_tui.appearance.splash import splash
    from pgs_tui.terminal.guard import TerminalGuard

    gc.disable()  # a collection amid the start only delays the first frame; the app switches it on again
    sys.setswitchinterval(SWITCH_SECONDS)
    with TerminalGuard() as terminal:
        columns, rows = os.get_terminal_size(sys.__stdout__.fileno()) if sys.__stdout__ else (80, 24)
        true_colour = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
        terminal.write(splash(columns, rows, goal.name, goal.first_words, look, true_colour, first_hints(goal)))
        app = _app(goal, look, start, waking)
        goodbye = app.run(mouse=look.mouse)
    for source in _sources(goal):
        source.close()
    return goodbye, goodbye.exit_code if goodbye else app.return_code or 0


def _sources(goal: Opened) -> tuple[Source, ...]:
    return (goal.source,) if isinstance(goal, AttachTo) else goal.sources if isinstance(goal, CompareRuns) else ()


def _app(goal: Opened, look: Look, start: Starter | None, waking: Waking) -> ThemedApp:
    if isinstance(goal, InspectData):
        from pgs_tui.apps.inspect import InspectApp

        return InspectApp(goal, look)
    if isinstance(goal, ProfileConfig):
        from pgs_tui.apps.profile import ProfileApp

        return ProfileApp(goal, look)
    if isinstance(goal, PickConfig):
        from pgs_tui.apps.picker import PickerApp

        return PickerApp(goal, look)
    if isinstance(goal, CompareRuns):
        from pgs_tui.apps.compare import CompareApp

        return CompareApp(goal, look)
    if isinstance(goal, ListRuns):
        from pgs_tui.apps.runs import RunsApp

        return RunsApp(goal, look)
    from pgs_tui.apps.dashboard import PgsApp

    return PgsApp(goal, look, start, waking)
