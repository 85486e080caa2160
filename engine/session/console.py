"""What the engine prints goes to the terminal, if there is one, and always to the run's `console.log`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from engine.private import open_private


class Tee:
    """A text stream that writes to a terminal and to a log, and goes on with the log when the terminal is gone.

    A log without space loses lines, never the run.
    """

    def __init__(self, terminal: TextIO | None, log: TextIO) -> None:
        self._terminal = terminal
        self._log = log
        self.encoding = (terminal or log).encoding
        self.errors = (terminal or log).errors

    def write(self, text: str) -> int:
        if self._terminal is not None:
            try:
                self._terminal.write(text)
                self._terminal.flush()
            except (OSError, ValueError):  # the terminal was closed: a lost link must not end the run
                self._terminal = None
        _write_if_there_is_space(self._log, text)
        return len(text)

    def flush(self) -> None:
        """Nothing waits: both sides are flushed with every write."""

    def isatty(self) -> bool:
        return self._terminal is not None and self._terminal.isatty()

    def fileno(self) -> int:
        return (self._terminal or self._log).fileno()


class Console:
    """Prints lines for people, and long texts such as tracebacks to the log alone."""

    def __init__(self, log: TextIO) -> None:
        self._log = log

    def say(self, line: str) -> None:
        sys.stdout.write(line + "\n")

    def log_only(self, text: str) -> None:
        _write_if_there_is_space(self._log, text.rstrip("\n") + "\n")


@contextmanager
def copied_to(log_path: Path) -> Iterator[Console]:
    """Inside, stdout and stderr go to their old places and to `log_path` too.

    A stream that already is that file, as under the launcher, is written once. A closed one (None) is not missed.
    """
    streams = sys.stdout, sys.stderr
    log = open(log_path, "a", encoding="utf-8", errors="backslashreplace", opener=open_private)  # noqa: SIM115
    try:
        sys.stdout, sys.stderr = (_copied(stream, log) for stream in streams)
        yield Console(log)
    finally:
        sys.stdout, sys.stderr = streams
        with suppress(OSError):  # what a full disk did not take before
            log.close()


def _copied(stream: TextIO | None, log: TextIO) -> TextIO:
    if stream is not None and hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)
    return Tee(None if _is_same_file(stream, log) else stream, log)  # type: ignore[return-value]


def _is_same_file(stream: TextIO | None, log: TextIO) -> bool:
    if stream is None:
        return False
    try:
        return os.path.sameopenfile(stream.fileno(), log.fileno())
    except (OSError, ValueError, AttributeError):
        return False


def _write_if_there_is_space(log: TextIO, text: str) -> None:
    try:
        log.write(text)
        log.flush()
    except OSError:  # a full disk: the event log keeps the record and says so
        return
