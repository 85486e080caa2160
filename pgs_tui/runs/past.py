"""The past of a long run, read by other processes while the screen starts and while it answers keys."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what the first frame does not need is imported after it
    from engine.events import EventReader
    from engine.events.columns import Portion

LONG_BYTES = 2 * 2**20
"""A shorter log is read as quickly without help."""
NEWEST_BYTES = 256 * 1024
"""The end of a log is no past: it is followed, event by event."""
OWN_STRETCH_BYTES = 128 * 1024
"""How much is read at a time without help: little, so that keys are answered in between."""
FOLLOWED_BYTES = 256 * 1024
"""How much of what is new is read at a time, for the same reason."""
MOST_WORKERS = 2
FINGERPRINT_BYTES = 64
PIPE_BYTES = 2**20
WORKER = "engine.events.past_worker"


class Past:
    """The first `end` bytes of a log of `size`, whole lines, as portions in order; then `reader` follows the rest.

    With `workers` they are read by other processes. If these fail, or where there are none, this process reads.
    """

    def __init__(self, path: Path, descriptor: int, size: int, end: int, workers: int) -> None:
        self.path = path
        self.size = size
        self.end = end
        self.offset = 0
        """The first byte that `portion` has not given yet."""
        self._descriptor = descriptor
        self._inode = os.fstat(descriptor).st_ino
        self._head = os.pread(descriptor, FINGERPRINT_BYTES, 0)
        self._tail = os.pread(descriptor, FINGERPRINT_BYTES, end - FINGERPRINT_BYTES)
        self._unwanted = False
        self._surveyed = False
        self._workers = _Workers(descriptor, workers, (size, end))

    @property
    def progress(self) -> float:
        """The share of it that has been given."""
        return self.offset / self.end

    def survey(self) -> Portion | None:
        """A sample of the whole log, to be shown until all is read; once, before any portion. Raises OSError."""
        from engine.events.survey import survey_of

        self._surveyed = True
        found = self._workers.survey()
        return found if found or self._unwanted else survey_of(self._descriptor, self.size)

    def portion(self) -> Portion | None:
        """The next portion, None when there is no other. Raises OSError, and may then be asked again."""
        if self.offset >= self.end:
            return None
        if not self._surveyed:  # the workers begin with it
            self.survey()
        portion = self._workers.portion(self.offset)
        if self._unwanted:
            return None
        portion = portion or self._own_portion()
        was_cut = portion.end == portion.begin
        self.offset = self.end if was_cut else portion.end  # whoever follows the log will see what became of it
        return portion

    def reader(self) -> EventReader:
        """Who follows the log from here on. It notices if what was given is no longer what the log says."""
        from engine.events import EventReader
        from engine.events.growing import Position

        at = Position(self.end, self._inode, self._head, self._tail)
        return EventReader(self.path, FOLLOWED_BYTES, at)

    def stop(self) -> None:
        """Nobody wants it any more: whoever waits for a portion gets none. From any thread."""
        self._unwanted = True
        self._workers.kill()

    def close(self) -> None:
        """Nothing will be asked any more; from the thread that asked."""
        self.stop()
        self._workers.end()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _own_portion(self) -> Portion:
        from engine.events.portions import portion_of
        from engine.events.stretches import bytes_between, line_start_at, whole_lines

        end = line_start_at(self._descriptor, self.offset + OWN_STRETCH_BYTES, self.end)
        return portion_of(whole_lines(bytes_between(self._descriptor, self.offset, end)), self.offset)


def past_of(path: Path, workers: int | None = None) -> Past | None:
    """The past of a log, if it has one that is worth its own way; its readers begin at once.

    `workers` is their number; None leaves it to the machine. A log that cannot be read has no past either: whoever
    follows it will say so.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        end = _where_the_newest_begins(descriptor, size) if size >= LONG_BYTES else None
        if end is not None:
            return Past(path, descriptor, size, end, _usual_workers() if workers is None else workers)
    except OSError:
        pass
    os.close(descriptor)
    return None


def _where_the_newest_begins(descriptor: int, size: int) -> int | None:
    newline = os.pread(descriptor, NEWEST_BYTES, size - NEWEST_BYTES).find(b"\n")
    return None if newline < 0 else size - NEWEST_BYTES + newline + 1


def _usual_workers() -> int:
    """Each takes a core, beside the one of the screen, for as long as there is something to read."""
    can_start_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, cores) if can_start_python else 0


class _Workers:
    """Processes that read a log in turns: portion by portion, the next one always comes from the next of them.

    The first begins at once, with the survey, and waits at its full pipe until somebody reads on: the screen is still
    starting then. The others begin when portions are asked for. As soon as one fails all are stopped, and nothing
    comes from them any more.
    """

    def __init__(self, descriptor: int, count: int, sizes: tuple[int, int]) -> None:
        self._processes: tuple[subprocess.Popen[bytes], ...] = ()
        self._missing = tuple((descriptor, (worker, count, *sizes)) for worker in range(count))
        self._turn = 0
        self._at_work = False
        self._start(1)

    def survey(self) -> Portion | None:
        return self._read(self._processes[0]) if self._processes else None

    def portion(self, begin: int) -> Portion | None:
        """The portion that begins there; None if it does not come."""
        if self._processes and not self._at_work:
            self._at_work = True
            self._start(len(self._missing))
            self._let_run_ahead()
        while self._processes:
            portion = self._read(self._processes[self._turn])
            if portion is None or portion.begin != begin:
                self.end()
                return None
            self._turn = (self._turn + 1) % len(self._processes)
            if portion.end > begin:
                return portion
        return None

    def _start(self, count: int) -> None:
        now, self._missing = self._missing[:count], self._missing[count:]
        try:
            for descriptor, numbers in now:
                self._processes += (_started(descriptor, numbers),)
        except OSError:  # no memory, or no processes left: it goes without them
            self.end()

    def _let_run_ahead(self) -> None:
        """By a larger pipe, where the system has such; a smaller one does as well."""
        pipes = [process.stdout for process in self._processes if process.stdout is not None]
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            for pipe in pipes:
                with suppress(OSError):
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def kill(self) -> None:
        """Whoever waits for one of them waits no longer."""
        for process in self._processes:
            process.kill()

    def end(self) -> None:
        """Nothing comes from them any more."""
        processes, self._processes = self._processes, ()
        for process in processes:
            process.kill()
            if process.stdout is not None:
                process.stdout.close()
            process.wait()

    def _read(self, process: subprocess.Popen[bytes]) -> Portion | None:
        import pickle

        from engine.events.columns import Portion

        assert process.stdout is not None, "a worker without a pipe"
        try:
            found = pickle.load(process.stdout)  # of our own program
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self.end()
            return None
        assert isinstance(found, Portion), "workers write portions"
        return found


def _started(descriptor: int, numbers: Sequence[int]) -> subprocess.Popen[bytes]:
    code = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(code), "PYTHONSAFEPATH": "1"}
    arguments = (sys.executable, "-S", "-m", WORKER, *map(str, numbers))
    return subprocess.Popen(
        arguments, stdin=descriptor, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
