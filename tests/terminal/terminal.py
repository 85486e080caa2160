"""Programs in a pseudo-terminal: what they write, what the screen shows, what is left of the terminal afterwards."""

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyte

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PATIENCE = 30.0
"""Seconds after which a test gives up waiting; no test measures by it."""


class Process(Protocol):
    """What Terminal needs of the program that runs in it."""

    pid: int
    returncode: Any

    def poll(self) -> int | None: ...
    def wait(self, timeout: float = ...) -> int: ...
    def kill(self) -> None: ...
    def send_signal(self, number: int, /) -> None: ...


Start = Callable[[tuple[str, ...], Mapping[str, str], int], Process]
"""Starts a command with an environment on the terminal behind a descriptor, in a session of its own."""


class Terminal:
    """A program that runs in a pseudo-terminal of its own session."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        size: tuple[int, int] = (100, 30),
        start: Start | None = None,
    ) -> None:
        self.master, self.slave = pty.openpty()
        columns, rows = size
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.attributes = termios.tcgetattr(self.slave)
        self.output = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._undrawn: list[bytes] = []
        self.process = (start or _started)(tuple(command), environment, self.slave)

    @property
    def text(self) -> str:
        """What the screen shows."""
        self._draw()
        # Not `display`: amid an update a wide character may have lost its first cell, which that does not survive.
        cells = self._screen.buffer
        return "\n".join(
            "".join(cells[y][x].data for x in range(self._screen.columns)) for y in range(self._screen.lines)
        )

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def wait_until_read(self) -> None:
        """Wait until the program has read everything that was typed."""
        end = time.monotonic() + PATIENCE
        while any(fcntl.ioctl(self.slave, termios.FIONREAD, bytes(4))):
            assert time.monotonic() < end, "what was typed is not read"
            self.read()

    def read(self, seconds: float = 0.05) -> bytes:
        """What was written within the time."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        data = b""
        if ready:
            with contextlib.suppress(OSError):
                data = os.read(self.master, 65536)
        self.output += data
        self._undrawn.append(data)
        return data

    def resize(self, columns: int, rows: int) -> None:
        """What was written before is drawn at the old size. A terminal of no size draws as one of a cell."""
        self._draw()
        self._screen.resize(max(rows, 1), max(columns, 1))
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.process.pid, signal.SIGWINCH)

    def _draw(self) -> None:
        """Draw what nobody has looked at yet: pyte is slow, and most of what is written nobody looks at."""
        written, self._undrawn = self._undrawn, []
        for data in written:
            with contextlib.suppress(Exception):  # pyte knows fewer codes than terminals do
                self._stream.feed(data)

    def wait_for(self, *texts: str) -> str:
        """Wait until the screen shows every text, and return the screen."""
        end = time.monotonic() + PATIENCE
        while not all(text in self.text for text in texts):
            assert time.monotonic() < end, f"waited for {texts}, the screen shows\n{self.text}"
            assert self.process.poll() is None or self.read(0.2), f"ended with {self.process.returncode}\n{self.text}"
            self.read()
        return self.text

    def wait_for_end(self) -> int:
        """Wait until the program is gone, and return its exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, f"still running, the screen shows\n{self.text}"
            self.read()
        while self.read(0.1):
            pass
        return self.process.returncode

    def attributes_now(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _started(command: tuple[str, ...], environment: Mapping[str, str], slave: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=dict(environment), preexec_fn=_own_session
    )


def _own_session() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def environment(state: Path, **more: str) -> dict[str, str]:
    """Of the developer's own environment only what a program needs to run."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    usual = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "XDG_STATE_HOME": str(state), "PYTHONPATH": str(ROOT)}
    return {**kept, **usual, **more}


def program(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pgs_tui", *arguments)


@contextlib.contextmanager
def fake_run(path: Path, state: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run whose engine is `fake_engine.py`, in a session of its own."""
    path.mkdir(parents=True, exist_ok=True)
    with (path / "console.log").open("ab") as log:
        engine = subprocess.Popen(
            (sys.executable, str(HERE / "fake_engine.py"), "train", "--run-dir", str(path)),
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=environment(state, **settings),
            start_new_session=True,
        )
    try:
        while not (path / "events.jsonl").exists():
            assert engine.poll() is None, (path / "console.log").read_text()
            time.sleep(0.02)
        yield engine
    finally:
        engine.send_signal(signal.SIGKILL)
        engine.wait()
