"""Bytes to and from one `ssh` process, none of which may be waited for longer than its user has patience."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from pgs_tui.remote.lost import LinkLostError, LinkSilentError, lost

_CHUNK = 64 * 1024
_REASON_BYTES = 4096
_LAST_WORDS_SECONDS = 1.0
"""What a program says of its end comes with it, or a moment later."""


@dataclass(slots=True)
class LineSigns:
    """When anything came last through a line (monotonic seconds): on a slow one an answer stands behind other bytes."""

    last: float = 0.0


class Channel:
    """A program with pipes, in a session of its own: it has no terminal to ask on, and Ctrl-C is not for it.

    `read` and `write` are for one thread, `close` for any. `signs` is shared by all channels of one line.
    """

    def __init__(
        self,
        command: Sequence[str],
        host: str,
        environment: Mapping[str, str] | None = None,
        signs: LineSigns | None = None,
    ) -> None:
        self.host = host
        self._signs = signs or LineSigns()
        self._said = b""
        self._may_say_more = True
        self._in_use = threading.Lock()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=environment,
            )
        except OSError as error:
            raise LinkLostError(f"{command[0]} cannot be started: {error.strerror}") from error
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
        woken, waker = os.pipe()
        self._woken, self._waker = os.fdopen(woken, "rb", 0), os.fdopen(waker, "wb", 0)

    def read(self, patience: float | None) -> bytes:
        """The next bytes. Raises LinkSilentError when none come in time (seconds), LinkLostError when none will.

        It is not silent while bytes come through another channel of the line.
        """
        with self._in_use:
            self._check_open()
            end = None if patience is None else time.monotonic() + patience
            while True:
                watched = (self._stdout, self._stderr) if self._may_say_more else (self._stdout,)
                ready = self._ready(watched, select.POLLIN, _left(end))
                if not ready:
                    assert patience is not None, "without it nothing ends the waiting"
                    end = self._signs.last + patience
                    if end > time.monotonic():
                        continue
                    raise LinkSilentError(f"{self.host} has not answered for {patience:.0f} s")
                if self._stderr in ready:
                    self._listen()
                if self._stdout in ready:
                    data = os.read(self._stdout.fileno(), _CHUNK)
                    if not data:
                        raise self._ended()
                    self._signs.last = time.monotonic()
                    return data

    def write(self, data: bytes, patience: float | None) -> None:
        """All of these bytes. Raises LinkSilentError if they are not taken in time, LinkLostError if never."""
        with self._in_use:
            self._check_open()
            while data:
                if not self._ready((self._stdin,), select.POLLOUT, patience):
                    raise LinkSilentError(f"{self.host} has not taken anything for {patience:.0f} s")
                try:
                    data = data[os.write(self._stdin.fileno(), data) :]
                except BrokenPipeError as error:
                    raise self._ended() from error

    def close(self) -> None:
        """End the program and, with its channel, what runs over there. A `read` that waits then raises.

        That the program has ended does not end its pipes: the master connection has them as well, and may be asleep.
        """
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # another thread closes it as well
                os.killpg(self._process.pid, signal.SIGTERM)  # with its children, where PGS_TUI_SSH names a script
            try:
                self._process.wait(_LAST_WORDS_SECONDS)
            except subprocess.TimeoutExpired:  # it is stopped, or deaf
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._waker.close()
        with self._in_use:
            for pipe in (*self._pipes, self._woken):
                pipe.close()

    @property
    def _pipes(self) -> tuple[IO[bytes], ...]:
        return self._stdin, self._stdout, self._stderr

    def _listen(self) -> None:
        """Keep the end of what is said on stderr."""
        with contextlib.suppress(BlockingIOError):
            said = os.read(self._stderr.fileno(), _CHUNK)
            self._said = (self._said + said)[-_REASON_BYTES:]
            self._may_say_more = bool(said)

    def _ended(self) -> LinkLostError:
        while self._may_say_more and _ready((self._stderr,), select.POLLIN, _LAST_WORDS_SECONDS):
            self._listen()
        return lost(self.host, self._said)

    def _ready(self, pipes: Sequence[IO[bytes]], wish: int, seconds: float | None) -> list[IO[bytes]]:
        """The pipes that are ready. Raises LinkLostError as soon as the channel is closed."""
        ready = _ready((*pipes, self._woken), wish, seconds)
        if self._woken in ready:
            self._check_open()
        return ready

    def _check_open(self) -> None:
        if self._waker.closed:
            raise LinkLostError(f"the connection to {self.host} was closed here")


def _ready(pipes: Sequence[IO[bytes]], wish: int, seconds: float | None) -> list[IO[bytes]]:
    """The pipes that can be read or written, or have ended; empty when the seconds are over."""
    poll = select.poll()
    places = {pipe.fileno(): pipe for pipe in pipes}
    for place in places:
        poll.register(place, wish)
    return [places[place] for place, _ in poll.poll(None if seconds is None else seconds * 1000)]


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())
