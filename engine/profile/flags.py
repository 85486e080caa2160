"""Overrides of config keys as values, and as the flags that the config reads."""

from __future__ import annotations

import json
from collections.abc import Mapping

from engine.profile.amounts import setting


def flags_of(overrides: Mapping[str, object]) -> list[str]:
    """`{"train.epochs": 2}` as `["--train.epochs=2"]`."""
    return [f"--{key}={_written(value)}" for key, value in overrides.items()]


def _written(value: object) -> str:
    """Texts stay as they are, for the config to judge; lists are YAML."""
    return json.dumps(value) if isinstance(value, list | dict) else setting(value)
