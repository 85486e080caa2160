"""The newest part of a `console.log` on another machine, in the mirror."""

from __future__ import annotations

from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import PART
from pgs_tui.runs.console import TAIL_BYTES


class ConsoleCopy:
    """Each `bring` copies what has been written since the last one; of what was there before only the end is wanted.

    `size` is how many bytes it had first, None where nobody over there can tell, and then all of it comes.
    """

    def __init__(self, mirror: Mirror, folder: str, size: int | None) -> None:
        self._mirror = mirror
        self._folder = folder
        self._offset = max((size or 0) - TAIL_BYTES, 0)
        self._begins_torn = self._offset > 0
        mirror.write(mirror.run.console_log, b"")

    def bring(self, desk: FarShell) -> None:
        """Raises LinkLostError."""
        data = desk.ask(PART, self._folder, "console.log", self._offset, TAIL_BYTES, limit=TAIL_BYTES)["bytes"]
        self._offset += len(data)
        if self._begins_torn and data:
            data = data[data.find(b"\n") + 1 :]
            self._begins_torn = False
        if data:
            self._mirror.append(self._mirror.run.console_log, data)
