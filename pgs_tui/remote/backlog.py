"""What a log on another machine held before somebody attached, into its mirror, from its beginning on."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Thread

from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.programs import PART
from pgs_tui.remote.ssh import Connection

FIRST_BYTES = 512 * 1024
LEAST_BYTES = 64 * 1024
MOST_BYTES = 8 * 2**20
USUAL_SECONDS = 0.7
"""One stretch is fetched after the other, each as long as comes in about that time: the live log waits no longer."""


class Backlog:
    """Fills the mirror's holes, in a thread of its own. `ended` is called from that thread."""

    def __init__(self, connection: Connection, folder: str, mirror: Mirror, ended: Callable[[], None]) -> None:
        self.error: OSError | None = None
        """Why it ended before all was there: nothing comes any more, or this machine's disk takes nothing."""
        self._connection = connection
        self._folder = folder
        self._mirror = mirror
        self._ended = ended
        self._shell: FarShell | None = None
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
        if shell := self._shell:
            shell.close()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._shell = self._connection.shell()
            if not self._closed:
                self._fill(self._shell)
        except OSError as error:
            self.error = error
        finally:
            if self._shell is not None:
                self._shell.close()
            self._ended()

    def _fill(self, shell: FarShell) -> None:
        count = FIRST_BYTES
        begin, hole_end = self._mirror.hole_after(0)
        while begin < hole_end and not self._closed:
            wanted = min(count, hole_end - begin)
            started = time.monotonic()
            data = shell.ask(PART, self._folder, "events.jsonl", begin, wanted, limit=wanted)["bytes"]
            seconds = time.monotonic() - started
            if len(data) < wanted or self._closed:  # it was cut over there: the next look at it will tell
                return
            self._mirror.put(begin, data)
            count = min(max(count * 2 if seconds < USUAL_SECONDS else count // 2, LEAST_BYTES), MOST_BYTES)
            begin, hole_end = self._mirror.hole_after(begin)
