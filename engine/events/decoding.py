"""Lines that may be anything to events: what is no event is counted and told, never raised."""

from __future__ import annotations

from engine.events.codec import BadLineError, decode
from engine.events.types import Stamped

MAX_NOTES = 5
"""How many of the lines that are no events are told of at a time; the others are only counted."""


class Decoding:
    """Counts the lines that were no events, with a remark for people on the first of them."""

    def __init__(self) -> None:
        self.bad_lines = 0
        self.notes: list[str] = []

    def event(self, line: bytes) -> Stamped | None:
        """The event of a line without its newline; None for an empty line, an unknown kind, or no event."""
        if not line.strip():
            return None
        try:
            return decode(line.decode("utf-8"))
        except (BadLineError, UnicodeDecodeError) as error:
            self.bad_lines += 1
            if self.bad_lines <= MAX_NOTES:
                self.notes.append(f"skipped a line that is no event ({error})")
            return None
