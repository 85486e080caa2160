"""The process that writes training of another tool into a folder as a run's log, seen from here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections import deque
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread

from engine.events.foreign.recognised import Found
from engine.rundir import RunDir

WRITER = "engine.foreign.mirroring"
PREFIX = "pgs-tui-foreign-"
ENDED = "the process that reads it has ended"


class ForeignMirror:
    """Starts at once. `run` is the folder; it goes with this object, or, should this program be killed, the process."""

    def __init__(self, found: Found) -> None:
        """Raises OSError where there is no room for the folder."""
        name = found.path.absolute().name or "root"
        home = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._remove = weakref.finalize(self, shutil.rmtree, home, ignore_errors=True)
        self.run = RunDir(home / name)
        self.run.path.mkdir()
        if found.kind == "log":
            self.run.console_log.symlink_to(found.path.absolute())
        self.progress = 0.0
        """The share of what was there at first that has been written."""
        self.trouble: str | None = None
        """Why nothing can be read at the moment."""
        self._notes: deque[str] = deque()
        self._is_read = Event()
        self._closing = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", WRITER, str(found.path.absolute()), str(self.run.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            start_new_session=True,
        )
        Thread(target=self._listen, name="foreign", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether all that was there at first has been written, or will not be; wait for it no longer than that."""
        return self._is_read.wait(seconds)

    @property
    def has_notes(self) -> bool:
        """Whether there are remarks."""
        return bool(self._notes)

    def notes(self) -> tuple[str, ...]:
        """Remarks since the last time."""
        notes: list[str] = []
        while self._notes:
            notes.append(self._notes.popleft())
        return tuple(notes)

    def close(self) -> None:
        """No more news are wanted; what is there can still be read."""
        with self._closing:
            stdin, self._process.stdin = self._process.stdin, None
        if stdin is not None:
            with suppress(OSError):  # it has left by itself
                stdin.write(b"\n")
                stdin.flush()
            with suppress(OSError):
                stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None, "it speaks through a pipe"
        for line in self._process.stdout:
            said = json.loads(line)
            match said["said"]:
                case "read":
                    self._is_read.set()
                case "progress":
                    self.progress = float(said["text"])
                case "note":
                    self._notes.append(said["text"])
                case "trouble":
                    self.trouble = said["text"]
                    self._is_read.set()
                case "well":
                    self.trouble = None
        self._process.wait()
        self.trouble = self.trouble or ENDED
        self._is_read.set()
