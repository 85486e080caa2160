"""The log of a run on another machine, in the mirror: what stood there before, and what is written now."""

from __future__ import annotations

import time
from collections.abc import Callable

from pgs_tui.remote.backlog import Backlog
from pgs_tui.remote.facts import FileFacts
from pgs_tui.remote.far_shell import Answer, FarShell
from pgs_tui.remote.first_look import FirstLook
from pgs_tui.remote.live_log import LiveLog
from pgs_tui.remote.lost import LinkLostError, LinkRefusedError
from pgs_tui.remote.mirror import Mirror
from pgs_tui.remote.same_log import change_of, original_of
from pgs_tui.remote.ssh import Connection

AGAIN_SECONDS = 0.5
"""Where following ends as soon as it began, it begins again after so long."""
CATCH_UP_SECONDS = 0.1
QUIET_SECONDS, LONGEST_SECONDS = 1.0, 10.0
"""What ends the first catching up with a log whose size is not known: silence, or patience."""


class LogCopy:
    """Works for one thread. `took` is told of live lines; `wake` is called when somebody should look at the log.

    Two channels put bytes meanwhile: one what is written, and one, while there are holes, what was there before.
    """

    def __init__(
        self,
        connection: Connection,
        folder: str,
        mirror: Mirror,
        took: Callable[[bytes], None],
        wake: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._folder = folder
        self._mirror = mirror
        self._took = took
        self._wake = wake
        self._spare: FarShell | None = None
        self._live: LiveLog | None = None
        self._live_since = 0.0
        self._was_odd = False
        """Whether the live log had seemed to be of another file before it was last looked at."""
        self._backlog: Backlog | None = None

    @property
    def is_going(self) -> bool:
        """Whether news comes, or has not been asked for."""
        return self._live is None or self._live.is_going

    def begin(self, look: FirstLook) -> None:
        """Put what the first look brought, behind what was kept from another time if it is still the same log."""
        log = look.facts.log
        if log is None or not look.pieces or change_of(self._mirror, self._mirror.size, log, look.pieces) is not None:
            self._mirror.begin_anew("emptied", None)
        for offset, data in look.pieces:
            self._mirror.put(offset, data)
        if log is not None and look.pieces:
            self._mirror.original = original_of(log, look.pieces[0][1])

    def prepare(self) -> None:
        """Open the channel for the live log while something else is asked. Raises LinkLostError."""
        if self._spare is None:
            self._spare = self._connection.shell()

    def before_look(self) -> int:
        """Up to where the log has been fetched, to be told to whoever looks at it now."""
        self._was_odd = self._live is not None and self._live.is_odd
        return self._mirror.size

    def judge(self, fetched: int, log: FileFacts, answer: Answer) -> None:
        """Hear what became of the log: begin anew if it is not the one that was fetched up to that byte any more."""
        before = answer["before"]
        pieces = ((0, answer["head"]), (fetched - len(before), before)) if "head" in answer else ()
        how = change_of(self._mirror, fetched, log, pieces)
        known, original = self._mirror.original, original_of(log, answer["head"])
        is_copy = known is not None and original is not None and known.inode != original.inode
        if how is not None or is_copy:
            self.leave()
        if how is not None:
            self._mirror.begin_anew(how, original)
        self._mirror.original = original or known

    @property
    def trouble(self) -> str | None:
        """Why no news comes, though the other machine answers."""
        return str(self._live.error) if self._live is not None and self._live.error is not None else None

    def follow(self, desk: FarShell) -> None:
        """See to it that all comes that is not there: what was before through the `desk`, if no other channel is let.

        Raises OSError where this machine's disk takes nothing, LinkRefusedError where the log is none.
        """
        for one in (self._live, self._backlog):
            error = one.error if one is not None else None
            if error is not None and (isinstance(error, LinkRefusedError) or not isinstance(error, LinkLostError)):
                raise error
        if self._needs_live_log():
            self._live_since = time.monotonic()
            self.prepare()
            shell, self._spare = self._spare, None
            assert shell is not None, "it was prepared"
            size = self._mirror.size
            self._live = LiveLog(shell, self._folder, self._mirror, size, self._took, self._wake, self._was_odd)
        begin, end = self._mirror.hole_after(0)
        if begin < end and (self._backlog is None or not self._backlog.is_going):
            has_failed = self._backlog is not None and self._backlog.error is not None
            shell = desk if has_failed else self._connection.shell()
            self._backlog = Backlog(shell, self._folder, self._mirror, self._wake, is_shared=has_failed)

    def catch_up(self, size: int | None, wanted: Callable[[], bool]) -> bool:
        """Wait until all of that many bytes has come; False where it does not, or is not `wanted` any more.

        None is a size that nobody over there can tell: then until a while nothing more has come.
        """
        begin = last = time.monotonic()
        while (live := self._live) is not None:
            now = time.monotonic()
            is_quiet = now - last >= QUIET_SECONDS or now - begin >= LONGEST_SECONDS
            if live.received >= size if size is not None else is_quiet:
                return True
            if not wanted() or not live.is_going:
                return False
            received = live.received
            self._mirror.wait(CATCH_UP_SECONDS)
            last = time.monotonic() if live.received > received else last
        return True

    def leave(self) -> None:
        """Nothing is put into the mirror any more once this returns."""
        for one in (self._live, self._backlog, self._spare):
            if one is not None:
                one.close()
        self._live = self._backlog = self._spare = None

    def _needs_live_log(self) -> bool:
        if self._live is None or self._live.is_going:
            return self._live is None
        is_late = time.monotonic() - self._live_since >= AGAIN_SECONDS
        return self._was_odd or (is_late and not self._live.is_odd)
