"""A thread that brings bytes of a far log over a channel of its own."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from pgs_tui.remote.far_shell import FarShell


class Bringing:
    """Works from `start` until all has come, the channel is lost, or it is closed.

    `ended` is called from its thread. The shell is closed in the end unless it `is_shared` with others.
    """

    def __init__(self, name: str, shell: FarShell, ended: Callable[[], None], is_shared: bool = False) -> None:
        self.error: OSError | None = None
        """Why it ended: nothing comes any more, or this machine's disk takes nothing."""
        self._shell = shell
        self._ended = ended
        self._is_shared = is_shared
        self._closed = False
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
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

    def _bring(self) -> None:
        """Put what comes, until there is nothing more or it is `_closed`. Raises OSError."""
        raise NotImplementedError

    def _close_shell(self) -> None:
        if not self._is_shared:
            self._shell.close()

    def _run(self) -> None:
        try:
            self._bring()
        except OSError as error:
            self.error = error
        finally:
            self._close_shell()
            self._ended()
