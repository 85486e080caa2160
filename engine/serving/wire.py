"""Requests and replies, a line of JSON each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from engine.serving.line import to_line
from engine.serving.params import RequestError


@dataclass(frozen=True, slots=True)
class Request:
    """One question. `id` is whatever the client gave; the reply carries it back."""

    id: Any
    method: str
    params: dict[str, Any]


class UnreadableRequestError(RequestError):
    """A line that is no request; `id` is the one to answer to, if there is one."""

    def __init__(self, message: str, id: Any = None) -> None:
        super().__init__(message)
        self.id = id


class Wire:
    """Reads requests from stdin and writes replies to what was stdout when it was made.

    From then on everything else that is printed to stdout, by whatever library, goes to stderr.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        self._out: BinaryIO = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

    def lines(self) -> Iterator[bytes]:
        """The lines of stdin until it is closed; blank ones are left out."""
        if sys.stdin is None:
            return
        with os.fdopen(os.dup(0), "rb") as lines:  # of its own: a thread that waits in sys.stdin would hinder the end
            yield from (line for line in lines if line.strip())

    def reply(self, id: Any, **content: Any) -> None:
        """Write a reply. Raises OSError when nobody reads any more."""
        text = to_line({"id": id, **content})
        self._out.write(text.encode("utf-8", "replace") + b"\n")
        self._out.flush()


def read_request(line: bytes) -> Request:
    """The request in a line. Raises UnreadableRequestError."""
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise UnreadableRequestError("not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableRequestError(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableRequestError('a request is an object: {"id", "method", "params"}')
    id, method, params = value.get("id"), value.get("method"), value.get("params") or {}
    if not isinstance(method, str) or not isinstance(params, dict):
        raise UnreadableRequestError("method must be a text and params an object", id)
    return Request(id, method, params)
