"""What the fake servers of the tests have in common: they read requests from stdin and answer on stdout, one a line."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

Answer = Callable[[str, dict[str, Any]], Any]
"""The result of a method with its params. Raises ValueError for what the server says instead."""


class GivingUpError(Exception):
    """The server ends here, and does not answer any more."""


def server_options() -> ArgumentParser:
    """How slow it is, when it gives up, and what it says then; to be told before anything is asked."""
    parser = ArgumentParser()
    parser.add_argument("--slow", nargs=2, default=("", "0"), metavar=("METHOD", "SECONDS"))
    parser.add_argument("--die-after", type=int, default=-1, metavar="ANSWERS")
    parser.add_argument("--say", default="", metavar="TEXT")
    parser.add_argument("--exit", type=int, default=0, metavar="CODE")
    return parser


def serve(answer: Answer, options: Namespace, uncounted: tuple[str, ...] = ()) -> int:
    """Answer until nobody asks any more, or as many as `options` say; returns the exit code.

    Answers of `uncounted` methods come on top of these.
    """
    if options.say:
        print(options.say, file=sys.stderr, flush=True)
    answered = 0
    while answered != options.die_after and (text := sys.stdin.readline()):
        request = json.loads(text)
        method = request["method"]
        if method == options.slow[0]:
            time.sleep(float(options.slow[1]))
        try:
            told = {"result": answer(method, request["params"])}
        except ValueError as error:
            told = {"error": {"message": str(error)}}
        except GivingUpError:
            break
        print(json.dumps({"id": request["id"], **told}), flush=True)
        answered += method not in uncounted
    return int(options.exit)
