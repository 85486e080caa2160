"""Commands that came too late are answered, too."""

from __future__ import annotations

from engine.events import Ack
from engine.events.control_line import Command
from engine.session.session import Session


def refuse_all(session: Session) -> None:
    """Answer what people have asked for since the training looked last: the run is over."""
    for asked in session.inbox.poll():
        message = "the run is over" if isinstance(asked, Command) else asked.why
        session.emit(Ack(id=asked.id, ok=False, message=message, cmd=asked.cmd, by=asked.by))
