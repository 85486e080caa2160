"""A file on the disk and what it is called towards people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class NamedFile:
    """`name` is the path, or for a file of the hub its place there, which says more than that in the cache."""

    path: Path
    name: Path

    def __init__(self, path: Path, name: Path | None = None) -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "name", name or path)
