"""The settings of a run by their keys, for advice that names a value."""

from __future__ import annotations

from collections.abc import Mapping

from engine.events.types import Scalar
from engine.rundir import RunDir


def settings_in(run: RunDir) -> Mapping[str, Scalar]:
    """What the run's `config.yaml` says; nothing where there is none, or one of a version that cannot be read here."""
    if not run.config_yaml.is_file():
        return {}
    from engine.config import ConfigError, load_config  # slow to import, and only runs that are judged here need it
    from engine.health.advice import settings_of

    try:
        return settings_of(load_config(run.config_yaml, check_files=False).config)
    except ConfigError:
        return {}
