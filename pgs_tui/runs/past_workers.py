"""The processes that read the past of a long run."""

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
    from engine.events.columns import Portion

PIPE_BYTES = 2**20
WORKER = "engine.events.past_worker"


class Workers:
    """Processes that read a log in turns: portion by portion, the next one always comes from the next of them.

    The first begins at once, with the survey, and waits at its full pipe until somebody reads on: the screen is still
    starting then. The others begin when portions are asked for. As soon as one fails all are stopped, and nothing
    comes from them any more. Where it `tells`, they must be told of what is there, and there is no survey.
    """

    def __init__(self, descriptor: int, count: int, sizes: tuple[int, int], tells: bool) -> None:
        self._processes: tuple[subprocess.Popen[bytes], ...] = ()
        self._missing = tuple((descriptor, (worker, count, *sizes)) for worker in range(count))
        self._tells = tells
        self._told: tuple[int, ...] = ()
        """The pipes to them, by which they are told."""
        self._given = 0
        self._at_work = False
        self._start(1)

    @property
    def next_end(self) -> int | None:
        """The byte that must be there for the next portion; None if nothing comes from them."""
        from engine.events.past_worker import STRETCH_BYTES

        return (self._given + 1) * STRETCH_BYTES if self._processes else None

    def tell(self, count: int) -> None:
        """The first so many bytes are there."""
        self._all_at_work()
        for pipe in self._told:
            with suppress(OSError):  # it is gone, which will be noticed, or has much to read before this matters
                os.write(pipe, b"%d\n" % count)

    def survey(self) -> Portion | None:
        return self._read(self._processes[0]) if self._processes else None

    def portion(self, begin: int) -> Portion | None:
        """The portion that begins there, an empty one amid a very long line; None if it does not come."""
        self._all_at_work()
        if not self._processes:
            return None
        portion = self._read(self._processes[self._given % len(self._processes)])
        self._given += 1
        if portion is None or portion.begin != begin:
            self.end()
            return None
        return portion

    def _all_at_work(self) -> None:
        if self._processes and not self._at_work:
            self._at_work = True
            self._start(len(self._missing))
            self._let_run_ahead()

    def _start(self, count: int) -> None:
        now, self._missing = self._missing[:count], self._missing[count:]
        try:
            for descriptor, numbers in now:
                self._processes += (self._started(descriptor, numbers),)
        except OSError:  # no memory, or no processes left: it goes without them
            self.end()

    def _started(self, descriptor: int, numbers: Sequence[int]) -> subprocess.Popen[bytes]:
        if not self._tells:
            return _started(descriptor, numbers)
        heard, told = os.pipe()
        os.set_blocking(told, False)
        self._told += (told,)
        try:
            return _started(descriptor, (*numbers, heard), (heard,))
        finally:
            os.close(heard)

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
        pipes, self._told = self._told, ()
        for pipe in pipes:
            os.close(pipe)
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


def _started(descriptor: int, numbers: Sequence[int], kept: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """A worker with the log as its stdin, to which the descriptors `kept` stay open."""
    code = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(code), "PYTHONSAFEPATH": "1"}
    arguments = (sys.executable, "-S", "-m", WORKER, *map(str, numbers))
    return subprocess.Popen(
        arguments,
        stdin=descriptor,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        pass_fds=kept,
    )
