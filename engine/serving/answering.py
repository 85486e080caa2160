"""One request to one reply, whatever becomes of it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from typing import Any, Protocol

from engine.errors import UserError
from engine.serving.params import RequestError
from engine.serving.wire import UnreadableRequestError, Wire, read_request


class Methods(Protocol):
    """What can be asked, a method a question."""

    def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result, a JSON value. Raises RequestError or UserError, whose message says why there is none."""


def answer(line: bytes, methods: Methods, wire: Wire) -> None:
    """Reply to the request in this line. Raises OSError when nobody reads any more."""
    try:
        request = read_request(line)
    except UnreadableRequestError as error:
        wire.reply(error.id, error={"message": str(error)})
        return
    try:
        result = methods.answer(request.method, request.params)
    except (RequestError, UserError) as error:
        wire.reply(request.id, error={"message": str(error)})
    except Exception as error:  # one question that cannot be answered must not end the others
        traceback.print_exc(file=sys.stderr)
        wire.reply(request.id, error={"message": f"{request.method} failed: {type(error).__name__}: {error}"})
    else:
        wire.reply(request.id, result=result)
