"""Which run stood below the curves of a config's runs, from one time to the next."""

from __future__ import annotations

import json
from pathlib import Path

from engine.rundir import registry_path, replace_text

MOST_CONFIGS = 200


def load(config: str) -> Path | None:
    """The run that was chosen last for this config; None where none was, or it is gone."""
    chosen = _read().get(config)
    path = Path(chosen) if chosen else None
    return path if path is not None and path.is_dir() else None


def save(config: str, run: Path | None) -> str:
    """Remember the run, or that there is none; returns a sentence where that was not possible."""
    known = _read()
    known.pop(config, None)
    if run is not None:
        known[config] = str(run.absolute())
    kept = dict(list(known.items())[-MOST_CONFIGS:])
    try:
        path = _path()
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps({"v": 1, "baselines": kept}, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        return f"the baseline is kept for this time only: {error}"
    return ""


def _path() -> Path:
    return registry_path().parent / "baselines.json"


def _read() -> dict[str, str]:
    """What is remembered; a file that cannot be read remembers nothing, and the next choice replaces it."""
    try:
        content = json.loads(_path().read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    found = content.get("baselines") if isinstance(content, dict) else None
    if not isinstance(found, dict):
        return {}
    return {name: run for name, run in found.items() if isinstance(run, str) and run}
