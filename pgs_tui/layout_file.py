"""The layout of the dashboard in a file, so that the next dashboard looks like the last one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from engine.rundir import registry_path, replace_text
from pgs_tui.history.axis import AXES
from pgs_tui.layout import LOGGABLE, SMOOTHINGS, Layout
from pgs_tui.panel_names import PANELS

_VERSION = 1

Known = TypeVar("Known", bound=str)


def layout_path() -> Path:
    """Where the layout is remembered, beside the registry of runs. Raises OSError for a user without a home."""
    return registry_path().parent / "dashboard.json"


def load() -> tuple[Layout, str]:
    """The layout as it was left, and a sentence where there is something to say: the file is broken or unreadable."""
    try:
        path = layout_path()
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return Layout(), ""
    except OSError as error:
        return Layout(), f"the layout could not be read, so the usual one is shown: {error}"
    layout = read(text)
    if layout is None:
        return Layout(), f"{path} is no layout of a dashboard, so the usual one is shown; the next change replaces it"
    return layout, ""


def save(layout: Layout) -> str:
    """Remember the layout; returns a sentence where that was not possible."""
    try:
        path = layout_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, written(layout))
    except OSError as error:
        return f"the layout is kept for this time only: {error}"
    return ""


def written(layout: Layout) -> str:
    """The layout as the text of its file."""
    record = {
        "v": _VERSION,
        "order": layout.order,
        "hidden": sorted(layout.hidden),
        "brought": sorted(layout.brought),
        "log_axes": sorted(layout.log_axes),
        "smoothing": layout.smoothing,
        "axis": layout.axis,
    }
    return json.dumps(record, indent=1) + "\n"


def read(text: str) -> Layout | None:
    """The layout of a file's text; None for one that is no JSON object.

    What other versions wrote is taken as far as it is known here: names that are unknown are dropped, panels that are
    missing come last.
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    order = _known(record.get("order"), PANELS)
    smoothing, axis = record.get("smoothing", SMOOTHINGS[0]), record.get("axis")
    brought = frozenset(_known(record.get("brought"), PANELS))
    return Layout(
        order=(*order, *(panel for panel in PANELS if panel not in order)),
        hidden=frozenset(_known(record.get("hidden"), PANELS)) - brought,
        brought=brought,
        log_axes=frozenset(_known(record.get("log_axes"), LOGGABLE)),
        smoothing=smoothing if _is_smoothing(smoothing) else SMOOTHINGS[0],
        axis=next((name for name in AXES if name == axis), "step"),
    )


def _is_smoothing(smoothing: object) -> bool:
    return smoothing is None or (not isinstance(smoothing, bool) and smoothing in SMOOTHINGS)


def _known(names: object, known: tuple[Known, ...]) -> tuple[Known, ...]:
    """Each of the names that is known, once, in their order."""
    found = (next((one for one in known if one == name), None) for name in (names if isinstance(names, list) else ()))
    return tuple(dict.fromkeys(one for one in found if one is not None))
