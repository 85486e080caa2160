"""A measurement that goes on while other questions are answered."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import UserError

if TYPE_CHECKING:
    from engine.profile.document import Measured

State = Literal["idle", "running", "done", "failed"]
Tell = Callable[[str, int, int], None]
Work = Callable[[Tell, Callable[[], bool]], "Measured"]
"""Measures; tells what it does and how many steps of how many are done, and asks whether it shall stop."""


class StoppedError(Exception):
    """It was asked to stop."""


class Measurement:
    """The one that goes on, or the last one. `state` may be asked from any thread."""

    def __init__(self) -> None:
        self._state: State = "idle"
        self._progress: tuple[str, int, int] = ("", 0, 0)
        self._result: Measured | None = None
        self._error: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        return self._state == "running"

    def start(self, work: Work) -> None:
        """Begin; there must be none going on."""
        assert not self.is_running
        self._stop = threading.Event()
        self._state, self._progress, self._result, self._error = "running", ("starting", 0, 0), None, None
        self._thread = threading.Thread(target=self._run, args=(work,), name="measuring", daemon=True)
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Ask it to stop, and wait for that; nothing happens where none goes on."""
        self._stop.set()
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Wait for its end."""
        if self._thread is not None:
            self._thread.join(seconds)

    def as_json(self) -> dict[str, Any]:
        """What there is to tell, in the shape of docs/json.md."""
        from engine.profile.comparison import measured_document

        what, done, total = self._progress
        result = self._result
        return {
            "state": self._state,
            "what": what,
            "done": done,
            "total": total,
            "result": None if result is None else measured_document(result.estimate, result.measurement),
            "error": self._error,
        }

    def _run(self, work: Work) -> None:
        try:
            self._result = work(self._tell, self._stop.is_set)
            self._state = "done"
        except StoppedError:
            self._state = "idle"
        except UserError as error:
            self._fail(str(error))
        except Exception as error:  # told to the one who asks
            traceback.print_exc(file=sys.stderr)
            self._fail(f"{type(error).__name__}: {error}")

    def _fail(self, reason: str) -> None:
        self._error = reason
        self._state = "failed"

    def _tell(self, what: str, done: int, total: int) -> None:
        self._progress = what, done, total
