"""Which tool has written a file or a folder: known by what stands in it, not by its name."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from engine.events.foreign.step_lines import StepLines
from engine.events.foreign.tensorboard import MARK, event_files
from engine.events.foreign.tfrecord import HEADER, masked_crc
from engine.events.foreign.told import NotReadableError
from engine.events.foreign.trainer_state import HISTORY, states_in
from engine.events.text_reader import lines_of

Kind = Literal["trainer_state", "tensorboard", "log"]
WORDS: dict[Kind, str] = {
    "trainer_state": "trainer_state.json of Hugging Face's Trainer",
    "tensorboard": "event files of TensorBoard",
    "log": "a log with lines of steps",
}
READ = (
    "read are runs, trainer_state.json and checkpoints of Hugging Face's Trainer, event files of TensorBoard, and logs"
    " with lines such as step=50 loss=2.34 or {'loss': 2.34}"
)
TABLE_OF_A_FOLDER = "metrics.csv"
"""What Lightning's CSV logger and others write into the folder of a run."""
LOOK_BYTES = 256 * 1024
DEEPEST, MOST_LOOKED_AT, MOST_FOLDERS = 3, 2_000, 100
"""Folders within folders in which event files are looked for, and how many at most: somebody's home is no run."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a path means: `path` is what has to be read, `note` what else a person should know."""

    kind: Kind
    path: Path
    note: str = ""


def recognised(path: Path) -> Found:
    """What the file or folder is. Raises NotReadableError with one sentence that says what is read."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _folder(path)
        if not stat.S_ISREG(mode):
            raise NotReadableError(f"{path} is no file; a stream is read by: pgs monitor -")
        return Found(_kind_of_file(path), path)
    except OSError as error:
        why = os.strerror(error.errno or errno.EIO)
        raise NotReadableError(f"{path} cannot be read: {why}") from error


def _folder(folder: Path) -> Found:
    if event_files(folder):
        return Found("tensorboard", folder)
    below = sorted(islice(_folders_of_events(folder), MOST_FOLDERS), key=_newest, reverse=True)
    if next(states_in(folder), None) is not None:
        beside = f"attach {below[0]}: its event files of TensorBoard tell when each step was" if below else ""
        return Found("trainer_state", folder, beside)
    if below:
        others = len(below) - 1
        note = f"{below[0]} is shown, the newest; {others} other folders in {folder} have event files, too"
        return Found("tensorboard", below[0], note if others else "")
    if (folder / TABLE_OF_A_FOLDER).is_file():
        return Found(_kind_of_file(folder / TABLE_OF_A_FOLDER), folder / TABLE_OF_A_FOLDER)
    raise NotReadableError(f"{folder} holds nothing that can be shown; {READ}")


def _folders_of_events(folder: Path) -> Iterator[Path]:
    """The folders below it with event files, those near it first. One that may not be entered hides nothing."""
    waiting, looked_at = deque([(folder, 0)]), 0
    while waiting and looked_at < MOST_LOOKED_AT:
        here, depth = waiting.popleft()
        looked_at += 1
        with suppress(OSError):
            if depth and event_files(here):
                yield here
            if depth < DEEPEST:
                waiting += ((one, depth + 1) for one in sorted(here.iterdir()) if one.is_dir() and not one.is_symlink())


def _newest(folder: Path) -> float:
    return max(one.stat().st_mtime for one in event_files(folder))


def _kind_of_file(path: Path) -> Kind:
    with path.open("rb") as file:
        head = file.read(LOOK_BYTES)
        size = os.fstat(file.fileno()).st_size
        tail = os.pread(file.fileno(), LOOK_BYTES, max(size - LOOK_BYTES, LOOK_BYTES))
    if _begins_with_a_record(head) or (not head and MARK in path.name):
        return "tensorboard"
    if head.lstrip().startswith(b"{") and b'"%s"' % HISTORY.encode() in head:
        return "trainer_state"
    if _tells_a_step(head) or _tells_a_step(tail):
        return "log"
    found = "is empty so far" if not head else "is no text" if b"\0" in head else "has no line that tells of a step"
    raise NotReadableError(f"{path} {found}; {READ}")


def _begins_with_a_record(head: bytes) -> bool:
    if len(head) < HEADER.size:
        return False
    length, check = HEADER.unpack_from(head)
    return bool(length) and masked_crc(head[:8]) == check


def _tells_a_step(data: bytes) -> bool:
    if b"\0" in data[:4096]:
        return False
    lines = StepLines()
    return any(next(lines.take(line), None) for line in lines_of(data)) or next(lines.rest(), None) is not None
