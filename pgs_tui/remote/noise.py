"""What a shell over there prints on login, before it does what it was asked: kept apart from every answer."""

from __future__ import annotations

from pgs_tui.format import plain

NOISE_BYTES = 64 * 1024
"""So much of it is looked through; a shell that says more than that is not one to talk to."""
_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 80


class Noise:
    """The bytes before the first frame."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data

    @property
    def lines(self) -> list[str]:
        """What was printed, each line harmless for a terminal; blank ones left out."""
        text = self.data.decode("utf-8", errors="replace")
        return [plain(line.rstrip("\r")) for line in text.split("\n") if line.strip()]

    def told_of(self, host: str) -> str:
        """The note for a person, or nothing for a quiet shell."""
        lines = self.lines
        if not lines:
            return ""
        start = " · ".join(line[:_SHOWN_CHARACTERS] for line in lines[:_SHOWN_LINES])
        count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        return f"the shell of {host} prints on login; {count} passed over: {start}"
