"""Commands to a running engine: appended to its `control.jsonl`, answered whatever it is at."""

from __future__ import annotations

from engine.events.control_file import append_command
from engine.events.control_line import CommandName, new_command
from engine.rundir import RunDir


def send(run: RunDir, name: CommandName, **args: float) -> str:
    """Append the command and return its id, under which the engine's `ack` will come. Raises OSError."""
    command = new_command(name, **args)
    append_command(run.control, command)
    return command.id
