"""`pgs-tui attach` in a pseudo-terminal: what it wrote and when, what the screen showed then, what it cost."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
import pyte

from engine.rundir import RunDir

PROJECT = Path(__file__).parents[3]
TICK = 0.01


class Attached:
    """The program, from its start; everything it writes is kept with its time."""

    def __init__(
        self,
        run: RunDir,
        size: tuple[int, int],
        state: Path,
        words: tuple[str, ...] | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`words` are what stands behind `pgs-tui`, if it is not to attach to the run."""
        self.size = size
        self.chunks: list[tuple[float, bytes]] = []
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LD_LIBRARY_PATH")}
        usual = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "PYTHONPATH": str(PROJECT)}
        self._master = master
        self.begin = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pgs_tui", *(words or ("attach", str(run.path)))],
            cwd=PROJECT,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=kept | usual | {"XDG_STATE_HOME": str(state)} | dict(environment),
            start_new_session=True,
        )
        os.close(slave)

    def __enter__(self) -> Attached:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._master)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.begin

    @property
    def written(self) -> int:
        """Bytes so far."""
        return sum(len(data) for _, data in self.chunks)

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def read(self, seconds: float, until: Callable[[bytes], bool] | None = None) -> float | None:
        """Read for some time, or until what is read in it satisfies `until`; returns how long that took."""
        begin, heard = time.perf_counter(), b""
        while (left := begin + seconds - time.perf_counter()) > 0:
            if select.select([self._master], [], [], min(left, TICK))[0]:
                try:
                    data = os.read(self._master, 65536)
                except OSError as error:
                    raise SystemExit(f"the dashboard has ended with {self._process.poll()}") from error
                self.chunks.append((self.seconds, data))
                heard += data
                if until is not None and until(heard):
                    return time.perf_counter() - begin
        return None

    def read_until_quiet(self, quiet: float, longest: float) -> None:
        """Read until nothing has come for `quiet` seconds."""
        end = time.perf_counter() + longest
        while time.perf_counter() < end:
            before = len(self.chunks)
            self.read(quiet)
            if len(self.chunks) == before:
                return

    def moment(self, seen: Callable[[list[str]], bool]) -> float | None:
        """Seconds from the start until the screen first satisfied `seen`, None when it never did."""
        screen = pyte.Screen(*self.size)
        stream = pyte.ByteStream(screen)
        for when, data in self.chunks:
            with contextlib.suppress(Exception):  # pyte knows fewer codes than terminals do
                stream.feed(data)
            if seen(_rows(screen)):
                return when
        return None

    def cpu(self) -> float:
        """Seconds of CPU of the program and its children so far."""
        return float(sum(one.user + one.system for one in self._each(psutil.Process.cpu_times)))

    def memory(self) -> float:
        """MB (10**6 bytes) that the program and its children hold now, shared pages with each."""
        return float(sum(one.rss for one in self._each(psutil.Process.memory_info))) / 1e6

    def _each(self, read: Callable[[psutil.Process], Any]) -> list[Any]:
        program = psutil.Process(self._process.pid)
        found = [read(program)]
        for child in program.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(read(child))
        return found


def _rows(screen: pyte.Screen) -> list[str]:
    cells = screen.buffer
    return ["".join(cells[y][x].data for x in range(screen.columns)) for y in range(screen.lines)]
