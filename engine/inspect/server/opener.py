"""Opens the data while the server can tell already how far that is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from engine.data.sources.rows import ReadProgress
from engine.inspect.opening import Inspection

OpenData = Callable[[ReadProgress], Inspection]


class Opener:
    """Opens in a thread of its own, and calls `then` once that is over, well or not."""

    def __init__(self, open_data: OpenData, then: Callable[[], None]) -> None:
        self._open_data = open_data
        self._then = then
        self._progress = ("starting", 0, 0)
        self._opened: Inspection | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._open, name="opening", daemon=True)
        self._thread.start()

    def inspection(self) -> Inspection:
        """What was opened; waits for it.

        Raises:
            UserError: the data cannot be opened.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._opened is not None
        return self._opened

    def state(self) -> dict[str, Any]:
        """The answer to `opening`."""
        return opening_state(*self._progress)

    def _open(self) -> None:
        try:
            self._opened = self._open_data(self._hear)
        except BaseException as error:  # raised again where what was opened is asked for
            self._error = error
        self._then()

    def _hear(self, what: str, done: int, total: int) -> None:
        self._progress = what, done, total


def opening_state(name: str, done: int = 0, total: int = 0, finished: bool = False) -> dict[str, Any]:
    """What is being done, and of how many bytes, in the shape of docs/json.md."""
    return {"finished": finished, "name": name, "done": done, "total": total, "unit": "bytes"}
