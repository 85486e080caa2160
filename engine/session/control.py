"""What people ask of a running engine: the lines of `control.jsonl`, which only the run's owner may have written.

The training looks at the file between two steps, so nothing in it may hold the training up: it is opened without
waiting, read in pieces, and whatever is no command is answered and passed over.
"""

from __future__ import annotations

import errno
import io
import os
import pwd
import stat
from pathlib import Path

from engine.events.control_line import MAX_LINE_BYTES, Command, Refused, parse_command

MOST_READ = 64 * 1024
"""Bytes taken in one look."""
MOST_SKIPPED = 16 * 2**20
"""Bytes of a line without end passed over in one look: a few milliseconds."""
MOST_LINES = 100
"""Lines answered in one look; the rest waits for the next one."""
_KEPT_IDS = 10_000
_MOST_PASSED_OVER = 2**20
_COMPARED = 256
"""Bytes before the place read to, by which a file that was written anew is told from one that grew."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def why_not_obeyed(path: Path, engine: int) -> str:
    """Why the engine that runs as the user of that number does not obey the file; empty where it does, or may."""
    try:
        status = path.lstat()
    except OSError:  # whoever writes it will be told
        return ""
    return "it is a link" if stat.S_ISLNK(status.st_mode) else _why_not_trusted(status, engine)


class ControlInbox:
    """The commands that stand in the file from byte `begin` on, each delivered once.

    What stands before `begin` was meant for an earlier engine of the run. No clock is asked: those of the people who
    write differ from the engine's. A file that others could have written is not obeyed, which one refusal says.
    """

    def __init__(self, path: Path, begin: int = 0) -> None:
        self._path = path
        self._offset = begin
        self._behind = b""
        self._is_in_long_line = False
        self._done: dict[str, None] = {}
        self._refusal = ""
        if begin:
            self._pass_over(begin)

    def poll(self) -> list[Command | Refused]:
        """The complete lines since the last poll, as commands or refusals; none where there is no such file."""
        try:
            descriptor = os.open(self._path, _OPEN)
        except FileNotFoundError:
            return []
        except OSError as error:
            is_link = error.errno == errno.ELOOP
            return self._not_obeyed("it is a link" if is_link else f"it cannot be read: {error.strerror}")
        try:
            status = os.fstat(descriptor)
            why = _why_not_trusted(status, os.geteuid())
            if why:
                self._offset, self._behind = status.st_size, b""
                return self._not_obeyed(why)
            self._refusal = ""
            return self._read(descriptor, status.st_size)
        except OSError:  # a disk that fails for a while is no reason to end a run
            return []
        finally:
            os.close(descriptor)

    def _not_obeyed(self, why: str) -> list[Command | Refused]:
        if why == self._refusal:
            return []
        self._refusal = why
        return [Refused("", f"{self._path.name} is not obeyed: {why}; what is written there meanwhile is passed over")]

    def _read(self, descriptor: int, size: int) -> list[Command | Refused]:
        behind = os.pread(descriptor, len(self._behind), self._offset - len(self._behind))
        if size < self._offset or behind != self._behind:  # emptied, or written anew
            self._offset, self._behind, self._is_in_long_line = 0, b"", False
        data = self._first_bytes(descriptor)
        found: list[Command | Refused] = []
        for line in io.BytesIO(data):
            if len(found) == MOST_LINES:
                break
            if not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
                break  # the rest is still to come
            self._go_on_behind(line)
            found += self._told(line)
        return found

    def _first_bytes(self, descriptor: int) -> bytes:
        """What comes next, behind the inside of a line that is too long to be a command."""
        end = self._offset + MOST_SKIPPED
        data = os.pread(descriptor, MOST_READ, self._offset)
        while self._is_in_long_line and len(data) == MOST_READ and self._offset < end and b"\n" not in data:
            self._go_on_behind(data)
            data = os.pread(descriptor, MOST_READ, self._offset)
        return data

    def _told(self, line: bytes) -> list[Command | Refused]:
        """What a line, or a stretch of one that is too long, comes to."""
        is_rest, self._is_in_long_line = self._is_in_long_line, not line.endswith(b"\n")
        text = line.strip()
        if is_rest or not text:
            return []
        parsed = parse_command(text)
        if parsed.id and parsed.id in self._done:
            return []  # sent again because its answer was lost
        if isinstance(parsed, Command):
            self._remember(parsed.id)
        return [parsed]

    def _go_on_behind(self, line: bytes) -> None:
        self._offset += len(line)
        self._behind = (self._behind + line)[-_COMPARED:]

    def _remember(self, identity: str) -> None:
        self._done[identity] = None
        if len(self._done) > _KEPT_IDS:
            del self._done[next(iter(self._done))]

    def _pass_over(self, begin: int) -> None:
        """Remember what earlier engines were asked, so that a file written anew with it is not obeyed again."""
        try:
            descriptor = os.open(self._path, _OPEN)
        except OSError:
            return
        try:
            start = max(0, begin - _MOST_PASSED_OVER)
            before = os.pread(descriptor, begin - start, start)
        except OSError:  # no file but a folder, say
            return
        finally:
            os.close(descriptor)
        for line in before.split(b"\n"):
            if isinstance(parsed := parse_command(line), Command):
                self._remember(parsed.id)
        self._behind = before[-_COMPARED:]


def _why_not_trusted(status: os.stat_result, engine: int) -> str:
    """Why somebody else than the engine's user may have written the file; empty where nobody could."""
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    if status.st_uid != engine:
        return f"it belongs to {_name_of(status.st_uid)}, and only {_name_of(engine)} may steer this run"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(status.st_mode)
        return f"others may write it (its mode is {mode:04o}; `chmod 600` makes it yours alone)"
    return ""


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"the user of number {user}"
