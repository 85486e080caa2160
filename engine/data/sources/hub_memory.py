"""Remembers which files a split of the hub had, so that a machine without a network finds what it has downloaded."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import quote

from engine.data.sources.scratch import cache_folder


def remember(key: str, split: Any) -> None:
    """Keep a `SplitOnHub`. A disk that is full or read-only costs no more than the memory."""
    file = _file_of(key)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as temporary:
            json.dump(asdict(split), temporary)
        Path(temporary.name).replace(file)
    except OSError:
        return


def recall(key: str) -> dict[str, Any] | None:
    """The fields of what was kept under that key; None where nothing was, or it cannot be read."""
    try:
        fields: dict[str, Any] = json.loads(_file_of(key).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return fields


def _file_of(key: str) -> Path:
    return cache_folder() / "hub" / f"{quote(key, safe='')}.json"
