"""How the dashboards of a machine share connections: a server lets only so many channels through each."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

SEATS = 3
"""Dashboards on one connection: each uses up to three channels, and a server opens ten (MaxSessions) unless told."""


class Seat:
    """The first free place at the connections whose files begin with `stem`, held until `leave` or the process's end.

    `connection` is the number of the connection: the first three share number 0, the next three number 1. Raises
    OSError.
    """

    def __init__(self, stem: Path) -> None:
        number = 0
        while (lock := _locked(Path(f"{stem}.seat-{number}"))) is None:
            number += 1
        self.connection = number // SEATS
        self._lock = lock

    def leave(self) -> None:
        """Let somebody else have it."""
        self._lock.close()


def _locked(path: Path) -> IO[str] | None:
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
