"""Which tool has written a file or a folder: known by what stands in it, not by its name."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
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
DEEPEST = 3
"""Folders within folders in which event files are looked for."""


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
    below = sorted(_folders_of_events(folder, DEEPEST), key=_newest, reverse=True)
    if next(states_in(folder), None) is not None:
        beside = f"its event files of TensorBoard tell when each step was: attach {below[0]}" if below else ""
        return Found("trainer_state", folder, beside)
    if below:
        others = len(below) - 1
        note = f"{below[0]} is shown, the newest; {others} other folders in {folder} have event files, too"
        return Found("tensorboard", below[0], note if others else "")
    if (folder / TABLE_OF_A_FOLDER).is_file():
        return Found(_kind_of_file(folder / TABLE_OF_A_FOLDER), folder / TABLE_OF_A_FOLDER)
    raise NotReadableError(f"{folder} holds nothing that can be shown; {READ}")


def _folders_of_events(folder: Path, depth: int) -> Iterator[Path]:
    if depth == 0:
        return
    for one in folder.iterdir():
        if one.is_dir() and not one.is_symlink():
            try:
                if event_files(one):
                    yield one
                yield from _folders_of_events(one, depth - 1)
            except OSError:  # a folder that may not be entered hides nothing that could be shown
                continue


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
