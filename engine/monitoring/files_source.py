"""Training of another tool, told by files that have no lines: polled, judged like a run, silent for how long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from engine.events.foreign.recognised import Found
from engine.events.foreign.tensorboard import event_files
from engine.events.foreign.told import NotReadableError
from engine.events.foreign.trainer_state import states_in
from engine.events.text_reader import TextBatch
from engine.foreign.judged import ForeignEvents
from engine.monitoring.log_source import LogSource
from engine.monitoring.summary import Summary, Told
from engine.rundir import RunNotFoundError

NO_STEP = "no step stands in these files so far"


class FilesSource(LogSource):
    """`poll` brings what has changed, as of a log; its events come from the files of the other tool."""

    def __init__(self, found: Found, name: str, follows: bool, clock: Callable[[], float] = time.time) -> None:
        super().__init__(_Files(found), name, follows, clock)
        self.kind = found.kind
        self._events = ForeignEvents(found)

    def poll(self) -> Iterator[Told]:
        """What has changed since the last time. Raises OSError, RunNotFoundError where nothing can be understood."""
        try:
            batch = self._events.poll()
        except NotReadableError as error:
            if self._is_past:
                raise RunNotFoundError(str(error)) from error
            return  # it is being written; what it held before stays
        for note in batch.notes:
            self.notes.append(note)
            yield Told(self._clock(), words=note)
        if batch.restarted:
            self.summary = Summary()
        for stamped in batch.events:
            yield from self.summary.take(stamped)
        if self._is_past:
            self._is_past = False
            if self.summary.step is None:
                self.notes.append(NO_STEP)
        if self._follows:
            yield from self._look()


class _Files:
    """When the files were written to last; they have no lines."""

    is_over = False

    def __init__(self, found: Found) -> None:
        self._found = found

    def poll(self) -> TextBatch:
        return TextBatch()

    def rest(self) -> tuple[str, ...]:
        return ()

    def changed(self) -> float | None:
        path = self._found.path
        if not path.is_dir():
            files = [path]
        else:
            files = event_files(path) if self._found.kind == "tensorboard" else list(states_in(path))
        return max((one.stat().st_mtime for one in files), default=None)
