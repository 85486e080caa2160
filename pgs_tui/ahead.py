"""While `ssh` logs in there is nothing else to do: the libraries of the screen that comes then are imported."""

from __future__ import annotations

from importlib import import_module
from threading import Thread

DASHBOARD = (
    "pgs_tui.apps.dashboard",
    "screens.dashboard.live",
    "pgs_tui.remote.following",
    "pgs_tui.runs.alarm",
    "engine.events.survey",
)
"""What is needed up to the first chart, but would be imported only when it is."""


def import_dashboard() -> None:
    """Begin, in a thread of its own; whoever imports one of them before that is through waits for it."""
    Thread(target=_import, args=(DASHBOARD,), name="imports", daemon=True).start()


def _import(names: tuple[str, ...]) -> None:
    for name in names:
        import_module(name)
