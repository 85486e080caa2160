"""Files that are whole after a power cut."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from engine.private import open_private

_FOLDERS_ARE_NOT_FLUSHED = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)


def flush(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(path: Path) -> None:
    """Flush a folder's list of names, where its disk lets folders be flushed. Raises OSError for a failing disk."""
    try:
        flush(path)
    except OSError as error:
        if error.errno not in _FOLDERS_ARE_NOT_FLUSHED:
            raise


def replace_text(path: Path, text: str) -> None:
    """Write the file in one move, so that a reader, and the disk after a power cut, has the old content or the new.

    A new file is as open as its folder. Raises OSError.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    with open(temporary, "w", encoding="utf-8", opener=open_private) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    flush_folder(path.parent)
