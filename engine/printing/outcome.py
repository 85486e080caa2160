"""How a command that only looks at things ends: an exit code, and one sentence where something stands in its way."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from engine.errors import UserError
from engine.exit_codes import DISK_FULL, FAILED, OUT_OF_MEMORY, USAGE_ERROR
from engine.printing.visible import harmless
from engine.serving.line import to_line

TRACEBACK_WANTED = "PGS_TRACEBACK"
"""Environment variable: with it, an error that nobody expected comes with its traceback."""


def told(work: Callable[[], int]) -> int:
    """Do the work and return its exit code, whatever happens; no traceback reaches the user unasked."""
    if sys.stdout is None:
        sys.stderr.write("pgs: there is no stdout to print to\n")
        return USAGE_ERROR
    try:
        code = work()
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        _print_no_more()
        return 0
    except Exception as error:
        reason, code = _explained(error)
        _print_no_more()
        sys.stderr.write(harmless(f"pgs: {reason}\n", sys.stderr.encoding))
    return code


def print_json(value: Any) -> None:
    """One line in UTF-8, whatever the locale."""
    sys.stdout.buffer.write(to_line(value).encode("utf-8", "replace") + b"\n")


def _explained(error: Exception) -> tuple[str, int]:
    if isinstance(error, UserError):
        return str(error), FAILED
    if isinstance(error, MemoryError):
        return "Out of memory: main memory is used up; look at less at once.", OUT_OF_MEMORY
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full; what was to be printed is not all there.", DISK_FULL
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.", FAILED
    if os.environ.get(TRACEBACK_WANTED):
        traceback.print_exc(file=sys.stderr)
    message = " ".join(str(error).split()) or "no message"
    return f"Unexpected {type(error).__name__}: {message} ({TRACEBACK_WANTED}=1 shows where)", FAILED


def _print_no_more() -> None:
    """What still waits to be written would fail again when the program ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
