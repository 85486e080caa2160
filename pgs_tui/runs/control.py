"""Commands to a running engine: appended to its `control.jsonl`, read by its loop between two steps."""

from __future__ import annotations

import errno
import os
import stat

from engine.events.control_line import CommandName, encode_command, new_command
from engine.rundir import RunDir


def send(run: RunDir, name: CommandName, **args: float) -> str:
    """Append the command and return its id, under which the engine's `ack` will come. Raises OSError."""
    command = new_command(name, **args)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(run.control, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a file that an engine reads", str(run.control))
        os.write(descriptor, f"{encode_command(command)}\n".encode())
    finally:
        os.close(descriptor)
    return command.id
