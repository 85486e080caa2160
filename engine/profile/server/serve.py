"""The server's loop: a request, its answer, the next one."""

from __future__ import annotations

import gc
import signal
import threading
from types import FrameType

from engine.profile.server.methods import Methods
from engine.serving.answering import answer
from engine.serving.inbox import Inbox
from engine.serving.wire import Wire

FIRST_QUESTION_SECONDS = 0.5


class _TerminatedError(BaseException):
    """SIGTERM: leave, but put in order what goes on."""


def serve() -> int:
    """Answer requests until stdin or stdout is closed; the exit code is 0 then.

    What estimates need is imported meanwhile, so that the first one does not have to wait for all of it.
    """
    wire = Wire()
    inbox = Inbox(wire.lines())
    methods = Methods()
    signal.signal(signal.SIGTERM, _terminate)
    answered = threading.Event()
    threading.Thread(target=_import_what_estimates_need, args=(answered,), name="imports", daemon=True).start()
    try:
        for line in inbox.lines():
            answer(line, methods, wire)
            answered.set()
            while not inbox.has_more and methods.foresee():
                pass
    except (BrokenPipeError, _TerminatedError):
        pass  # the one who asked has left
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        methods.close()
    return 0


def _terminate(number: int, frame: FrameType | None) -> None:
    raise _TerminatedError


def _import_what_estimates_need(answered: threading.Event) -> None:
    """The first question, which GPUs there are, comes at once and should not have to share the interpreter."""
    from engine.profile.profiler import import_libraries

    answered.wait(FIRST_QUESTION_SECONDS)
    import_libraries()
    gc.freeze()  # what is there now stays; looking through it again and again would only delay answers
