"""What an alert advises, as a config that can be written: from which file, and with which values."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.events.types import Advice, Scalar
from engine.health.advice import as_text
from engine.health.partners import partners as partners_of
from engine.rundir import RunDir

Changes = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Way:
    """One thing to do about an alert: how it reads, why, and the values to write."""

    text: str
    why: str
    changes: Changes


@dataclass(frozen=True, slots=True)
class Base:
    """The file to change, and the values of the run that it does not have itself.

    `left_out` is the file that the run was started with where it cannot be changed so, and its comments are lost.
    """

    path: Path
    changes: Mapping[str, object] = field(default_factory=dict)
    left_out: Path | None = None


def ways_of(advice: Sequence[Advice]) -> list[Way]:
    """Each advice that has a value, then all of them at once where they can be taken together."""
    writable = [one for one in advice if one.value is not None]
    ways = [
        Way(as_text(Advice(key=one.key, value=one.value, also=one.also)), one.why, _changes(one)) for one in writable
    ]
    together: dict[str, Scalar] = {}
    for way in ways:
        if any(together.get(key, value) != value for key, value in way.changes.items()):
            return ways
        together |= way.changes
    keys = ", ".join(together)
    return [*ways, Way(f"all of them: {keys}", "", together)] if len(ways) > 1 else ways


def why_nothing_to_write(advice: Sequence[Advice]) -> str:
    """Why there is no way, in a sentence."""
    if not advice:
        return "this alert advises no change of the config"
    return f"no value can be written for {advice[0].key}: what the run has there is not known"


def base_of(run: RunDir, command: str | None) -> Base | None:
    """The config that the run was started with, its comments kept, and what the run has otherwise; else the run's own.

    `command` is how the run was started. None where the run has no config.
    """
    if not run.config_yaml.is_file():
        return None
    written = _config_in(command)
    by_hand = _written_by_hand(written, run) if written is not None else None
    return by_hand or Base(run.config_yaml, left_out=written)


def completed(changes: Changes, run: RunDir) -> Changes:
    """The changes with what has to change together with them; alerts of earlier versions do not name it."""
    from engine.config import ConfigError, load_config
    from engine.health import settings_of

    try:
        settings = settings_of(load_config(run.config_yaml, check_files=False).config)
    except ConfigError:
        return changes
    partners = [pair for key, value in changes.items() for pair in partners_of(key, value, settings)]
    return {**dict(partners), **changes}


def _written_by_hand(path: Path, run: RunDir) -> Base | None:
    """The file, where what the run has otherwise can be written into it."""
    from engine.config import ConfigError, load_config
    from engine.config.differences import differing_keys
    from engine.config.edit import changed_text
    from engine.config.load import load_text
    from engine.config.yaml_source import read_text

    try:
        own = load_config(run.config_yaml, check_files=False)
        changes = {one.key: one.other for one in differing_keys(load_config(path, check_files=False), own)}
        changed = load_text(changed_text(read_text(path), changes, path), path)
    except ConfigError:
        return None
    return Base(path, changes) if not differing_keys(changed, own) else None


def _config_in(command: str | None) -> Path | None:
    try:
        words = shlex.split(command or "")
    except ValueError:
        return None
    for place, word in enumerate(words):
        name = word.removeprefix("--config=") if word.startswith("--config=") else None
        if word == "--config" and place + 1 < len(words):
            name = words[place + 1]
        if name is not None:
            path = Path(name)
            return path if path.is_file() else None
    return None


def _changes(advice: Advice) -> Changes:
    return {advice.key: advice.value, **dict(advice.also)}
