"""What a log on another machine held before somebody attached, into its mirror, from its beginning on."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Thread

from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import PART

FIRST_BYTES = 64 * 1024
LEAST_BYTES = 16 * 1024
MOST_BYTES = 8 * 2**20
USUAL_SECONDS = 0.7
"""One stretch is fetched after the other, each as long as comes in about that time: the live log waits no longer."""
MOST_GROWTH = 4.0


class Backlog:
    """Fills the mirror's holes, in a thread of its own. `ended` is called from that thread.

    The shell is closed in the end unless it `is_shared` with others, who ask in between.
    """

    def __init__(
        self, shell: FarShell, folder: str, mirror: Mirror, ended: Callable[[], None], is_shared: bool = False
    ) -> None:
        self.error: OSError | None = None
        """Why it ended before all was there: nothing comes any more, or this machine's disk takes nothing."""
        self._shell = shell
        self._is_shared = is_shared
        self._folder = folder
        self._mirror = mirror
        self._ended = ended
        self._closed = False
        self._thread = Thread(target=self._run, name="backlog", daemon=True)
        self._thread.start()

    @property
    def is_going(self) -> bool:
        """False once nothing more will come from it."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Nothing is put any more once this returns."""
        self._closed = True
        self._close_shell()
        self._thread.join()

    def _close_shell(self) -> None:
        if not self._is_shared:
            self._shell.close()

    def _run(self) -> None:
        try:
            self._fill()
        except OSError as error:
            self.error = error
        finally:
            self._close_shell()
            self._ended()

    def _fill(self) -> None:
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
