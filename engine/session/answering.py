"""Every command is answered, for everybody who looks at the run: in its log, and in a line on the console."""

from __future__ import annotations

from engine.events import Ack
from engine.events.control_line import Command, Refused
from engine.session.session import Session


def answer(session: Session, asked: Command | Refused, ok: bool, message: str) -> None:
    """Tell what came of a command, or why a line was none."""
    session.emit(Ack(id=asked.id, ok=ok, message=message, cmd=asked.cmd, by=asked.by))
    session.say(f"{asked.by or 'somebody'}: {asked.cmd or 'a command'}: {'' if ok else 'no: '}{message}")


def refuse_all(session: Session) -> None:
    """Answer what people have asked for since the training looked last: the run is over."""
    for asked in session.inbox.poll():
        answer(session, asked, False, "the run is over" if isinstance(asked, Command) else asked.why)
