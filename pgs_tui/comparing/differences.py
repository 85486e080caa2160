"""Which keys differ between the configs of several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgs_tui.format import plain

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.config import Loaded


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """A key, and its value in each run as YAML has it, more or less; None for a run whose config is not known."""

    key: str
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """The differing keys in the order of the schema, and in `unread` by a run's place why its config is not known."""

    keys: tuple[KeyDifference, ...] = ()
    unread: tuple[tuple[int, str], ...] = ()
    known: int = 0
    """How many configs could be compared."""


def differences_of(configs: Sequence[Path]) -> Differences:
    """Compare them; reading the schema takes a third of a second, so not on the thread of the screen."""
    read = [_loaded(path) for path in configs]
    known = [(place, one) for place, one in enumerate(read) if not isinstance(one, str)]
    unread = tuple((place, one) for place, one in enumerate(read) if isinstance(one, str))
    return Differences(tuple(_differing(known, len(configs))), unread, len(known))


def _differing(known: Sequence[tuple[int, Loaded]], count: int) -> list[KeyDifference]:
    from engine.config.differences import differing_keys

    if not known:
        return []
    first, config = known[0]
    values: dict[str, dict[int, str]] = {}
    for place, other in known[1:]:
        for difference in differing_keys(config, other):
            of_key = values.setdefault(difference.key, {first: _written(difference.one)})
            of_key[place] = _written(difference.other)
    found = []
    for key in _in_order(values):
        told = values[key]
        is_known = {place for place, _ in known}
        every = tuple(told.get(place, told[first]) if place in is_known else None for place in range(count))
        found.append(KeyDifference(key, every))
    return found


def _in_order(values: dict[str, dict[int, str]]) -> list[str]:
    from engine.config.kinds import kinds

    return [key for key in kinds() if key in values]


def _loaded(path: Path) -> Loaded | str:
    """The config, else why there is none."""
    from engine.config import ConfigError, load_config

    if not path.exists():
        return "it has no config"
    try:
        return load_config(path, check_files=False)
    except (ConfigError, OSError, UnicodeDecodeError) as error:
        return f"its config cannot be read: {plain(str(error).strip().splitlines()[0])}"


def _written(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_written, value))}]"
    return plain(str(value))
