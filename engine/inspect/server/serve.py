"""The server's loop: a request, its answer, the next one."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from itertools import chain

from engine.inspect.opening import Inspection
from engine.inspect.server.background import Background
from engine.inspect.server.methods import Methods
from engine.inspect.server.opener import OpenData, Opener
from engine.rundir import RunDir
from engine.serving.answering import answer
from engine.serving.inbox import Inbox
from engine.serving.wire import Request, UnreadableRequestError, Wire, read_request

_SWITCH_SECONDS = 0.0005
"""How long the audit's thread may keep an answer waiting; Python's own 5 ms add up within one answer."""


def serve(open_data: OpenData, run: RunDir | None = None) -> int:
    """Answer requests until stdin or stdout is closed; the exit code is 0 then.

    While the data is being opened, `opening` is answered at once, and all other requests wait.

    Raises:
        UserError: the data cannot be opened.
    """
    wire = Wire()
    inbox = Inbox(wire.lines())
    opener = Opener(open_data, then=inbox.interrupt)
    try:
        waiting = _while_opening(opener, inbox, wire)
        if waiting or not inbox.is_closed:
            _serve_opened(opener.inspection(), run, chain(waiting, inbox.lines()), wire)
    except BrokenPipeError:
        pass  # the one who asked has left
    return 0


def _while_opening(opener: Opener, inbox: Inbox, wire: Wire) -> list[bytes]:
    """Tell how far the opening is; returns the other requests that came meanwhile."""
    waiting = []
    for line in inbox.lines():
        request = _read(line)
        if request is not None and request.method == "opening" and not request.params:
            wire.reply(request.id, result=opener.state())
        else:
            waiting.append(line)
    return waiting


def _read(line: bytes) -> Request | None:
    try:
        return read_request(line)
    except UnreadableRequestError:
        return None


def _serve_opened(inspection: Inspection, run: RunDir | None, lines: Iterable[bytes], wire: Wire) -> None:
    gc.freeze()  # what is there now stays; looking through it again and again would only delay answers
    sys.setswitchinterval(_SWITCH_SECONDS)
    background = Background(inspection)
    methods = Methods(inspection, background, run)
    background.start()
    try:
        for line in lines:
            with background.waiting():
                answer(line, methods, wire)
    finally:
        background.stop()
