"""What a log on another machine held before somebody attached, into its mirror, from its beginning on."""

from __future__ import annotations

import time
from collections.abc import Callable

from pgs_tui.remote.bringing import Bringing
from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import PART

FIRST_BYTES = 64 * 1024
LEAST_BYTES = 16 * 1024
MOST_BYTES = 8 * 2**20
USUAL_SECONDS = 0.7
"""One stretch is fetched after the other, each as long as comes in about that time: the live log waits no longer."""
MOST_GROWTH = 4.0


class Backlog(Bringing):
    """Fills the mirror's holes, in a thread of its own. `ended` is called from that thread.

    The shell is closed in the end unless it `is_shared` with others, who ask in between.
    """

    def __init__(
        self, shell: FarShell, folder: str, mirror: Mirror, ended: Callable[[], None], is_shared: bool = False
    ) -> None:
        super().__init__("backlog", shell, ended, is_shared)
        self._folder = folder
        self._mirror = mirror
        self.start()

    def _bring(self) -> None:
        count = FIRST_BYTES
        begin, hole_end = self._mirror.hole_after(0)
        while begin < hole_end and not self._closed:
            wanted = min(count, hole_end - begin)
            started = time.monotonic()
            data = self._shell.ask(PART, self._folder, "events.jsonl", begin, wanted, limit=wanted)["bytes"]
            seconds = time.monotonic() - started
            if len(data) < wanted or self._closed:  # it was cut over there: the next look at it will tell
                return
            self._mirror.put(begin, data)
            count = next_count(count, seconds)
            begin, hole_end = self._mirror.hole_after(begin)


def next_count(count: int, seconds: float) -> int:
    """How long the next stretch should be, in bytes, where `count` bytes came in so many seconds."""
    growth = USUAL_SECONDS / max(seconds, USUAL_SECONDS / MOST_GROWTH)
    return min(max(int(count * growth), LEAST_BYTES), MOST_BYTES)
