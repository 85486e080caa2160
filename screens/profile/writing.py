"""Writes the changes to a YAML file of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def proposed_path(config: Path) -> str:
    """A name beside the config that no file has yet, as people would write it; below here if that folder is ours."""
    from engine.config.edit import free_name

    path = free_name(config)
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else str(path)


def save(config: Path, changes: Mapping[str, object], target: Path, overwrite: bool) -> Path:
    """Write the config with the changes, its comments and order kept. Raises OSError, or ValueError with the reason."""
    from engine.config.edit import save_changed

    return save_changed(config, changes, target, overwrite=overwrite)
