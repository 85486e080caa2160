"""Appends to `control.jsonl`, whoever else does at that moment."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from engine.events.control_line import Command, encode_command

OWNER_ONLY = 0o600
_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def make_control_file(path: Path) -> None:
    """Let there be a file for commands that its owner alone may write. Raises OSError."""
    os.close(_opened(path))


def append_command(path: Path, command: Command) -> None:
    """Append the command as one line, in one write. Raises OSError when it does not stand there whole."""
    descriptor = _opened(path)
    try:
        line = f"{_newline_lacking(descriptor)}{encode_command(command)}\n".encode()
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    descriptor = os.open(path, _OPEN, OWNER_ONLY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "this is no regular file", str(path))
    return descriptor


def _newline_lacking(descriptor: int) -> str:
    """What ends the line of a writer that a full disk or a crash stopped within it."""
    size = os.fstat(descriptor).st_size
    return "\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else ""
