"""A program that writes training of another tool into a folder as the log of a run, and goes on while it grows.

`python -m engine.foreign.mirroring PATH FOLDER` writes FOLDER/events.jsonl, and FOLDER/console.log if there is none. It
says on stdout, a line of JSON each, {"said": ..., "text": ...}: "progress" with a share while what was there is being
written, "read" once it is; a "note" for people; "trouble" while something cannot be read, and "well" when it can again.

A line on stdin says that no news are wanted any more: it leaves. When stdin ends without one, nobody is there any more:
it removes what it wrote and the folder, if that is empty then.
"""

from __future__ import annotations

import json
import os
import select
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from engine.events.foreign.recognised import recognised
from engine.events.foreign.told import NotReadableError
from engine.events.reader import Batch
from engine.foreign.judged import ForeignEvents
from engine.foreign.lines import line_of, said_of

LOG, CONSOLE = "events.jsonl", "console.log"
"""The second is a link where the lines of a log are shown, made by whoever made the folder."""
NICENESS = 10
"""Answering keys goes first."""
FASTEST, SLOWEST = 0.2, 1.0
"""Seconds between two looks at what grows, and at what does not."""


class Teller:
    """Says things once: what has not changed is not said again."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._trouble = ""

    def say(self, what: str, text: str = "") -> None:
        self._out.write(json.dumps({"said": what, "text": text}) + "\n")
        self._out.flush()

    def trouble(self, text: str) -> None:
        """Something cannot be read (or, with no text, can be again)."""
        if text != self._trouble:
            self._trouble = text
            self.say("trouble" if text else "well", text)


def main(arguments: list[str]) -> None:
    """Write until stdin ends."""
    source, folder = map(Path, arguments)
    os.nice(NICENESS)
    teller = Teller(sys.stdout)
    is_alone = True
    try:
        is_alone = _follow(ForeignEvents(recognised(source)), folder, teller)
    except (OSError, NotReadableError) as error:  # while it was being recognised, or the folder is gone
        teller.trouble(_said(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if is_alone:
        _leave_nothing_of(folder)


def _follow(events: ForeignEvents, folder: Path, teller: Teller) -> bool:
    """Returns whether nobody is there any more, else no more news are wanted."""
    pause, is_read = FASTEST, False
    with (folder / LOG).open("a", encoding="utf-8") as log, _console(folder / CONSOLE) as console:
        while (asked := _asked(pause if is_read or events.is_open else 0.0)) is None:
            was_open = events.is_open
            try:
                batch = events.poll()
            except (OSError, NotReadableError) as error:
                teller.trouble(_said(error))
                batch = Batch()
            else:
                teller.trouble("")
            _write(batch, log, console)
            for note in batch.notes:
                teller.say("note", note)
            if not is_read:
                teller.say("progress", f"{events.progress:.3f}")
            if not (is_read or batch.more or (events.is_open and not was_open)):
                is_read = True
                teller.say("read")
            pause = 0.0 if batch.more else FASTEST if batch else min((pause or FASTEST) * 1.5, SLOWEST)
    return not asked


def _leave_nothing_of(folder: Path) -> None:
    """Only what was made for the mirror, and folders that are empty then: the arguments may be wrong."""
    with suppress(OSError):
        for name in (LOG, CONSOLE):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()
        folder.parent.rmdir()


def _console(path: Path) -> TextIO:
    """Where lines for people go; nowhere, where the other tool's own are."""
    return (Path(os.devnull) if path.is_symlink() else path).open("a", encoding="utf-8")


def _write(batch: Batch, log: TextIO, console: TextIO) -> None:
    if batch.restarted:
        log.truncate(0)
    log.writelines(f"{line_of(stamped)}\n" for stamped in batch.events)
    log.flush()
    console.writelines(f"{said}\n" for stamped in batch.events if (said := said_of(stamped.event)))
    console.flush()


def _asked(seconds: float) -> bytes | None:
    """What stands on stdin, nothing at its end; None where nothing came within so many seconds."""
    readable, _, _ = select.select([sys.stdin], [], [], seconds)
    return os.read(sys.stdin.fileno(), 1) if readable else None


def _said(error: OSError | NotReadableError) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    return str(error)


if __name__ == "__main__":
    main(sys.argv[1:])
