"""What differs between two configs, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.config.kinds import kinds
from engine.config.load import Loaded
from engine.config.not_yet import value_of
from engine.config.schema import Config


@dataclass(frozen=True, slots=True)
class Difference:
    """A full key such as `train.optimizer`, and its two values: texts, numbers, booleans, None, tuples or sources."""

    key: str
    one: object
    other: object


def differing_keys(one: Config | Loaded, other: Config | Loaded) -> tuple[Difference, ...]:
    """The keys that have another effect in one config than in the other, in the order of the schema.

    Paths that lead to the same file are equal, however they are written. Of loaded configs they are shown as their
    files have them, unless both are written alike.
    """
    first, second = _config_of(one), _config_of(other)
    differences = (Difference(key, _effect(first, key), _effect(second, key)) for key in kinds())
    return tuple(
        _as_written(difference, one, other) for difference in differences if difference.one != difference.other
    )


def _config_of(config: Config | Loaded) -> Config:
    return config.config if isinstance(config, Loaded) else config


def _effect(config: Config, key: str) -> object:
    return config.train.effective_betas if key == "train.betas" else value_of(config, key)


def _as_written(difference: Difference, one: Config | Loaded, other: Config | Loaded) -> Difference:
    first = _paths_of(one).get(difference.key, difference.one)
    second = _paths_of(other).get(difference.key, difference.other)
    return Difference(difference.key, first, second) if first != second else difference


def _paths_of(config: Config | Loaded) -> Mapping[str, object]:
    return config.paths_as_written if isinstance(config, Loaded) else {}
