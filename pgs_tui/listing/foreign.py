"""Training of other tools in a list: found by names, looked at by size and time, summed up by another process."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from engine.events.foreign.names import CHECKPOINT_PREFIX, EVENT_MARK, STATE_NAME
from pgs_tui.listing.row import RunRow, Tool
from pgs_tui.listing.sizes import BLOCK_BYTES, size_on_disk

if TYPE_CHECKING:
    from engine.events.foreign.recognised import Kind
    from pgs_tui.listing.reading import KnownSummary

WORKER = "engine.foreign.summary_worker"
KINDS: Mapping[Tool, Kind] = {"Trainer": "trainer_state", "TensorBoard": "tensorboard"}
MOST_BYTES = 256 * 2**20
"""Longer files are read only by who wants to see them."""
MOST_CHECKPOINTS = 3
"""Folders with the name of one that are looked into for a state; one without is no checkpoint of the Trainer."""
_CHECKPOINT = re.compile(rf"{CHECKPOINT_PREFIX}\d+")
_BEGAN = re.compile(rf"{EVENT_MARK}\.(\d{{9,11}})\.")
"""TensorBoard writes the second in which it begins into the name of a file."""


def tool_of(folder: Path, names: Collection[str]) -> Tool | None:
    """Which other tool has written the folder with these names in it; None where it seems to be none."""
    if STATE_NAME in names:
        return "Trainer"
    checkpoints = [name for name in names if _CHECKPOINT.fullmatch(name)]
    if any((folder / name / STATE_NAME).is_file() for name in checkpoints[:MOST_CHECKPOINTS]):
        return "Trainer"
    return "TensorBoard" if any(EVENT_MARK in name for name in names) else None


def foreign_row(folder: Path, shown: str, tool: Tool, known: KnownSummary | None = None) -> RunRow:
    """The training in the folder; `known` is what was found of its files before. Never raises OSError."""
    files = list(_files(folder, tool))
    told = repr(sorted((path.name, path.parent.name, status.st_mtime_ns, status.st_size) for path, status in files))
    fingerprint = zlib.crc32(told.encode(errors="surrogateescape"))
    summary = known.summary if known is not None and known.inode == fingerprint else None
    return RunRow(
        path=folder,
        shown=shown,
        name=folder.name,
        tool=tool,
        started=min((_began(path, status) for path, status in files), default=None),
        summary=summary,
        log_inode=fingerprint,
        must_sum=summary is None,
        cannot_sum=sum(status.st_size for _, status in files) > MOST_BYTES,
    )


def foreign_size(row: RunRow) -> int:
    """The bytes that its files take of the disk, with all of its checkpoints; what lies beside them does not count."""
    assert row.tool, "a run of ours"
    if row.tool == "TensorBoard":
        return sum(status.st_blocks * BLOCK_BYTES for _, status in _files(row.path, row.tool))
    total = 0
    for entry in _entries(row.path):
        try:
            if entry.is_file(follow_symlinks=False):
                total += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
            elif _CHECKPOINT.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                total += size_on_disk(Path(entry.path))
        except OSError:  # gone meanwhile
            continue
    return total


def _files(folder: Path, tool: Tool) -> Iterator[tuple[Path, os.stat_result]]:
    """The files that tell of it, each with what is known of it."""
    for path in _event_files(folder) if tool == "TensorBoard" else _states(folder):
        try:
            yield path, path.stat()
        except OSError:  # no state in this checkpoint, or gone meanwhile
            continue


def _event_files(folder: Path) -> Iterable[Path]:
    return (Path(entry.path) for entry in _entries(folder) if EVENT_MARK in entry.name)


def _states(folder: Path) -> Iterable[Path]:
    yield folder / STATE_NAME
    for entry in _entries(folder):
        if _CHECKPOINT.fullmatch(entry.name):
            yield Path(entry.path) / STATE_NAME


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _began(path: Path, status: os.stat_result) -> float:
    found = _BEGAN.search(path.name)
    return float(found[1]) if found else status.st_mtime
