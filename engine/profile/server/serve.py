"""The server's loop: a request, its answer, the next one."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import deque
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from engine.profile.server.methods import Methods
from engine.serving.answering import answer
from engine.serving.inbox import Inbox
from engine.serving.wire import UnreadableRequestError, Wire, read_request

FIRST_QUESTION_SECONDS = 0.5


class _TerminatedError(BaseException):
    """SIGTERM: leave, but put in order what goes on."""


def serve() -> NoReturn:
    """Answer requests until stdin or stdout is closed, or SIGTERM comes; the exit code is 0 then.

    What estimates need is imported meanwhile, so that the first one does not have to wait for all of it.
    """
    loop = _Loop()
    signal.signal(signal.SIGTERM, _terminate)
    threading.Thread(target=_import_what_estimates_need, args=(loop.answered,), name="imports", daemon=True).start()
    try:
        loop.run()
    except (BrokenPipeError, _TerminatedError):
        pass  # the one who asked has left
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        loop.methods.close()
    _leave()


class _Loop:
    """Answers in the order of asking, but for quick questions that come while changes are looked for."""

    def __init__(self) -> None:
        self._wire = Wire()
        self._inbox = Inbox(self._wire.lines())
        self._later: deque[bytes] = deque()
        self._is_between = False
        self.methods = Methods(between=self._answer_quick_ones)
        self.answered = threading.Event()
        """Somebody has got an answer."""

    def run(self) -> None:
        """Until nobody can ask any more."""
        for line in self._inbox.lines():
            self._answer(line)
            while self._later:
                self._answer(self._later.popleft())
            while not self._inbox.has_more and self.methods.foresee():
                pass

    def _answer(self, line: bytes) -> None:
        answer(line, self.methods, self._wire)
        self.answered.set()

    def _answer_quick_ones(self) -> None:
        """While a search goes on: what takes longer waits for its end."""
        if self._is_between:
            return
        self._is_between = True
        try:
            while self._inbox.has_more and (line := next(self._inbox.lines(), None)) is not None:
                if _takes_long(line):
                    self._later.append(line)
                else:
                    self._answer(line)
        finally:
            self._is_between = False


def _takes_long(line: bytes) -> bool:
    """Whether this asks for changes, too."""
    try:
        request = read_request(line)
    except UnreadableRequestError:
        return False
    return request.method == "estimate" and request.params.get("changes") is not False


def _leave() -> NoReturn:
    """At once: Python takes up to a second to take half-imported libraries apart, and the screen waits for the end."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(0)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _TerminatedError


def _import_what_estimates_need(answered: threading.Event) -> None:
    """The first question, which GPUs there are, comes at once and should not have to share the interpreter."""
    from engine.profile.profiler import import_libraries

    answered.wait(FIRST_QUESTION_SECONDS)
    import_libraries()
    gc.freeze()  # what is there now stays; looking through it again and again would only delay answers
