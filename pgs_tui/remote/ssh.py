"""One connection to another machine, made by the system's `ssh`, over which all channels go."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import select
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from pgs_tui.remote.channel import Channel, LineSigns
from pgs_tui.remote.far_shell import FarShell
from pgs_tui.remote.lost import LinkLostError, not_reached
from pgs_tui.remote.seats import Seat
from pgs_tui.terminal.guard import lent_terminal

PERSIST_SECONDS = 60
"""So long a connection nobody uses stays open: for the next dashboard, and no longer if this program is killed."""
CONNECT_SECONDS = 10
ALIVE_SECONDS, ALIVE_COUNT = 5, 3
"""After 15 s without a sign of life the connection counts as lost."""
CONTROL_SECONDS = 5
"""For a word with the master process, which is on this machine."""
LOGIN_SECONDS = 60
"""For a login without questions, from a jump host's to the last one's."""
_LONGEST_SOCKET_PATH = 104 - 17 - 1
"""A unix socket's path on the strictest system, less the random letters that `ssh` puts behind it for a while."""
_NAME_LETTERS = 24
"""Of a socket: 20, and the number of the connection."""
_REASON_BYTES = 4096
_LOOK_MS = 10


def ssh_command(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """`ssh`, or the words of PGS_TUI_SSH, such as `ssh -F FILE`; no shell sees them. Raises LinkLostError."""
    try:
        return tuple(shlex.split(environment.get("PGS_TUI_SSH", ""))) or ("ssh",)
    except ValueError as error:
        raise LinkLostError(f"PGS_TUI_SSH is no command: {error}") from error


class Connection:
    """A master connection to `host`, shared with other dashboards of this user on this machine; in the end `leave` it.

    Raises LinkLostError where there is no folder for its socket.
    """

    def __init__(self, host: str, ssh: Sequence[str] | None = None) -> None:
        self.host = host
        self.ssh = tuple(ssh or ssh_command())
        self._signs = LineSigns()
        self._folder = control_folder()
        name = hashlib.sha256("\0".join((*self.ssh, host)).encode(errors="surrogateescape")).hexdigest()[:20]
        try:
            self._seat = Seat(self._folder / name)
        except OSError as error:
            raise LinkLostError(f"no place for ssh's control socket: {error.filename}: {error.strerror}") from error
        number = self._seat.connection
        self.socket = self._folder / (f"{name}-{number}" if number else name)

    def open(self, says: IO[bytes] | None = None) -> None:
        """Log in with the terminal left to `ssh`, for a password, a new host key, a touch of a key.

        What `ssh` says besides goes to `says` (default: stderr). Raises LinkLostError with its reason.
        """
        says = says or sys.stderr.buffer
        with self._alone(says):
            if not self.stands():
                with lent_terminal():
                    self._log_in((), says)

    def reopen(self) -> None:
        """Log in again without any question, nothing said on the terminal. Raises LinkLostError, LinkRefusedError."""
        with self._alone(None):
            if not self.stands():
                self._log_in(("-o", "BatchMode=yes"), None)

    def stands(self) -> bool:
        """Whether there is a master; it may not know yet that the line is cut."""
        return self._control("check") == 0

    def drop(self) -> None:
        """End the master, for all that use it: the line behind it is dead. One that does not answer stays as it is."""
        with contextlib.suppress(LinkLostError):
            self._control("exit")

    def leave(self) -> None:
        """It is not used any more; the master stays for others, and a minute for who comes next."""
        self._seat.leave()

    def shell(self) -> FarShell:
        """A shell over there, in a channel of its own. Raises LinkLostError."""
        command = (*self.ssh, *_CHANNEL, *self._through(), "--", self.host, "exec sh")
        return FarShell(Channel(command, self.host, quiet_environment(), self._signs))

    def _through(self) -> tuple[str, ...]:
        return ("-o", f"ControlPath={_without_tokens(self.socket)}")

    def _log_in(self, more: Sequence[str], says: IO[bytes] | None) -> None:
        self.socket.unlink(missing_ok=True)  # of a master that was killed: with it `ssh` would listen nowhere
        command = (*self.ssh, *_MASTER, *more, *self._through(), "--", self.host)
        asks = says is not None
        try:
            process = subprocess.Popen(
                command,
                stdin=None if asks else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=not asks,
                env=None if asks else quiet_environment(),
            )
        except OSError as error:
            raise LinkLostError(f"{self.ssh[0]} cannot be started: {error.strerror}") from error
        assert process.stderr is not None
        with process.stderr as pipe:
            try:
                said = _passed_on(process, pipe, says, None if asks else time.monotonic() + LOGIN_SECONDS)
            finally:
                _end(process)
        if process.returncode != 0:
            raise not_reached(self.host, said)

    def _control(self, request: str) -> int:
        command = (*self.ssh, "-O", request, *self._through(), "--", self.host)
        nothing = subprocess.DEVNULL
        try:
            return subprocess.run(
                command, stdin=nothing, stdout=nothing, stderr=nothing, check=False, timeout=CONTROL_SECONDS
            ).returncode
        except OSError as error:
            raise LinkLostError(f"{self.ssh[0]} cannot be started: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise LinkLostError(f"the master connection to {self.host} does not answer: {self.socket}") from error

    @contextlib.contextmanager
    def _alone(self, says: IO[bytes] | None) -> Iterator[None]:
        """Two that log in at once would leave a connection behind that nobody knows. Without `says` nobody waits."""
        with Path(f"{self.socket}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                sentence = f"another pgs-tui is logging in on {self.host}"
                if says is None:
                    raise LinkLostError(sentence) from error
                says.write(f"{sentence}; this one waits for it\n".encode())
                says.flush()
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


_CHANNEL = (
    *("-T", "-a", "-x"),
    *("-o", "ControlMaster=no", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR"),
    *("-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no"),
    *("-o", "ProxyCommand=false"),  # without its master it must fail, not log in anew by itself
)
_MASTER = (
    *("-a", "-x", "-fN"),
    *("-o", "ControlMaster=yes", "-o", f"ControlPersist={PERSIST_SECONDS}", "-o", "Compression=yes"),
    *("-o", f"ServerAliveInterval={ALIVE_SECONDS}", "-o", f"ServerAliveCountMax={ALIVE_COUNT}"),
    *("-o", f"ConnectTimeout={CONNECT_SECONDS}"),
    *("-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no"),
)


def control_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """`${XDG_RUNTIME_DIR:-/tmp}/pgs-tui-UID`, this user's alone. Raises LinkLostError where it is somebody else's."""
    name = f"pgs-tui-{os.getuid()}"
    folder = Path(environment.get("XDG_RUNTIME_DIR") or "/tmp") / name
    if len(os.fsencode(folder)) + 1 + _NAME_LETTERS > _LONGEST_SOCKET_PATH:
        folder = Path("/tmp") / name
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise LinkLostError(f"no folder for ssh's control socket: {folder}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise LinkLostError(f"{folder} is not a folder of this user: ssh's control socket would not be safe there")
    if found.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def quiet_environment() -> dict[str, str]:
    """An environment in which `ssh` has no program to ask a question with."""
    kept = {key: value for key, value in os.environ.items() if key not in ("SSH_ASKPASS", "DISPLAY", "WAYLAND_DISPLAY")}
    return {**kept, "SSH_ASKPASS_REQUIRE": "never"}


def _without_tokens(path: Path) -> str:
    return str(path).replace("%", "%%")


def _end(process: subprocess.Popen[bytes]) -> None:
    """It ends, should it not have; `ssh` can miss a signal that comes just as it begins to ask."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
    if process.poll() is None:
        process.kill()
        process.wait()


def _passed_on(process: subprocess.Popen[bytes], pipe: IO[bytes], says: IO[bytes] | None, until: float | None) -> bytes:
    """What the program says on stderr, passed on at once, before it asks on the terminal, until it ends.

    A child of it that goes on in the background may keep the pipe open.
    """
    said = b""
    os.set_blocking(pipe.fileno(), False)
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    ended = False
    while not ended and (until is None or time.monotonic() < until):
        closed = any(event & select.POLLHUP for _, event in poll.poll(_LOOK_MS))
        if closed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_MS / 1000)
        ended = process.poll() is not None
        while data := _available(pipe):
            said = (said + data)[-_REASON_BYTES:]
            if says is not None:
                says.write(data)
                says.flush()
    return said


def _available(pipe: IO[bytes]) -> bytes:
    try:
        return os.read(pipe.fileno(), _REASON_BYTES)
    except BlockingIOError:
        return b""
