"""Commands to a running engine: appended to its `control.jsonl`, read by its loop between two steps."""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
import uuid
from typing import Literal

from engine.rundir import RunDir

Command = Literal["stop", "checkpoint", "evaluate", "pause", "resume", "scale_lr"]


def send(run: RunDir, command: Command, **args: float) -> str:
    """Append the command and return its id, under which the engine's `ack` will come. Raises OSError."""
    command_id = uuid.uuid4().hex[:12]
    record = {"v": 1, "id": command_id, "t": time.time(), "by": _who(), "cmd": command, "args": args}
    line = json.dumps(record, ensure_ascii=False) + "\n"
    descriptor = os.open(run.control, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
    return command_id


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
