"""Every command is answered, for everybody who looks at the run: in its log, and in a line on the console."""

from __future__ import annotations

from engine.events import Ack, EventWriter
from engine.events.control_line import Command, Refused
from engine.session.console import Console


class Answering:
    """Tells what comes of a command, or why a line was none; from any thread."""

    def __init__(self, events: EventWriter, console: Console) -> None:
        self._events = events
        self._console = console

    def __call__(self, asked: Command | Refused, ok: bool, message: str, later: bool = False) -> None:
        """`later` says that the command is only promised, and that another answer to it follows."""
        self._events.write(Ack(id=asked.id, ok=ok, message=message, cmd=asked.cmd, by=asked.by, later=later))
        self._console.say(f"{asked.by or 'somebody'}: {asked.cmd or 'a command'}: {'' if ok else 'no: '}{message}")
