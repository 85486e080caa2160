"""Two engines never write one run: the folder is locked while an engine is at work in it.

The lock is a POSIX record lock on `run.lock`. The system frees it when the process ends, however it ends; children do
not inherit it; and network disks that lock at all (NFSv4) hold it for all machines. It is lost as soon as the process
closes any descriptor of that file, so nothing else in an engine may open it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from datetime import datetime

from engine.errors import UserError
from engine.rundir import RunDir

_HELD_BY_ANOTHER = (errno.EACCES, errno.EAGAIN)
_KNOWS_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_MOST_SAID = 300


class RunLockedError(UserError):
    """Another engine is at work in the run's folder."""

    code = "RUN_LOCKED"


class RunLock:
    """The right to write a run's folder. `take` it before anything in the folder is looked at, hold it to the end."""

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._descriptor = -1
        self.note: str | None = None
        """Why the folder could not be locked, where its disk knows no locks; the run goes on without."""

    def take(self) -> None:
        """Lock the folder, which must exist.

        Raises RunLockedError while another process holds it, OSError where `run.lock` cannot be written.
        """
        if self._descriptor >= 0:
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self._run.lock, flags, 0o600)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, _MOST_SAID) if error.errno in _HELD_BY_ANOTHER else b""
            os.close(descriptor)
            if error.errno in _HELD_BY_ANOTHER:
                raise RunLockedError(_refusal(self._run, holder)) from None
            if error.errno not in _KNOWS_NO_LOCKS:
                raise
            self.note = (
                f"the disk of {self._run.path} knows no locks ({error.strerror}): make sure that no second engine is "
                "started in this folder"
            )
            return
        self._descriptor = descriptor
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, _holder().encode(), 0)

    def release(self) -> None:
        """Let others have the folder."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> RunLock:
        self.take()
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def _holder() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now():%Y-%m-%d %H:%M:%S}\n"


def _refusal(run: RunDir, holder: bytes) -> str:
    said = "".join(letter for letter in holder.decode(errors="replace") if letter.isprintable())
    return (
        f"The run {run.id} is still going on ({said or 'another process'} holds its folder): attach to it with "
        f"`pgs-tui attach {run.id}`, or stop it first."
    )
