"""The runs that were found, in which order and which of them are shown, and which are marked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pgs_tui.listing.filtering import wanted_by
from pgs_tui.listing.finding import Tally
from pgs_tui.listing.opening import scan_of
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.scanning import Found, Scan
from pgs_tui.listing.sorting import Order, in_order
from pgs_tui.listing.where import told_of
from pgs_tui.remote.address import Address

BATCH_SECONDS = 0.05
"""How long what was found waits for more before it is shown."""
MOST_MARKED = 6
NEWEST_FIRST = Order()


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look through the runs has brought since the last one of these; `error` says why it broke off."""

    number: int
    found: tuple[Found, ...]
    done: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class ListView:
    """How a person looks at the list, to come back to it as it was."""

    order: Order = NEWEST_FIRST
    filter: str = ""
    marked: tuple[Path, ...] = ()
    selected: Path | None = None


class Listing:
    """`look` is for a thread and tells what it finds; `take` brings that in. What is known stays in sight meanwhile."""

    def __init__(self, where: Path | Address | None, view: ListView | None = None) -> None:
        view = view or ListView()
        self.where = where
        self.order, self.filter, self.marked = view.order, view.filter, view.marked
        self.rows: dict[Path, RunRow] = {}
        self.searched = False
        """Whether a look has come to its end."""
        self.looking = False
        self.left = 0
        """Runs of which there is still more to be found out."""
        self.error = ""
        self.took = 0.0
        """Seconds that the last look took."""
        self.tally = Tally()
        self.deleting = 0
        """Runs that are being deleted from here."""
        self._number = 0
        self._scan: Scan | None = None
        self._seen: set[Path] = set()
        self._since = 0.0

    def begin(self, anew: bool = False) -> tuple[int, Scan]:
        """Begin another look; `anew` forgets what need not be read again. Returns its number, and what to run."""
        self.close()
        self._number += 1
        self._scan = scan_of(self.where, {} if anew else dict(self.rows))
        self._seen, self.looking, self._since = set(), True, time.monotonic()
        return self._number, self._scan

    def take(self, news: Looked) -> None:
        """Make what was found known; a look that is not the newest one has nothing to say any more."""
        if news.number != self._number or self._scan is None:
            return
        for found in news.found:
            before = self.rows.get(found.row.path)
            row = found.row
            if before is not None and row.size is None:
                row = with_size(row, before.size)
            self.rows[row.path] = row
            self._seen.add(row.path)
            self.left = found.left
        self.tally = self._scan.tally
        if news.done:
            self._end(news.error)

    def _end(self, error: str) -> None:
        self.looking, self.left, self.error = False, 0, error
        self.took = time.monotonic() - self._since
        if not error:
            self.searched = True
            self.rows = {path: row for path, row in self.rows.items() if path in self._seen}
            self.marked = tuple(path for path in self.marked if path in self.rows)

    def shown(self) -> list[RunRow]:
        """The runs to show, in order."""
        wanted = wanted_by(self.filter)
        return in_order((row for row in self.rows.values() if wanted(row)), self.order)

    @property
    def going(self) -> int:
        """How many are going on."""
        return sum(row.is_going for row in self.rows.values())

    @property
    def half_deleted(self) -> tuple[Path, ...]:
        """What is left of deletions that broke off."""
        return () if self.deleting else tuple(self.tally.removed)

    @property
    def size(self) -> int:
        """Bytes that all of them take of the disk, as far as is known."""
        return sum(row.size or 0 for row in self.rows.values())

    def toggle_mark(self, path: Path) -> bool:
        """Mark a run, or take its mark away; False where there are as many as can be compared."""
        if path in self.marked:
            self.marked = tuple(one for one in self.marked if one != path)
        elif len(self.marked) == MOST_MARKED:
            return False
        else:
            self.marked = (*self.marked, path)
        return True

    def begun_from(self, row: RunRow) -> list[RunRow]:
        """The runs that went on from a checkpoint of this one."""
        return [one for one in self.rows.values() if one.parent == row.id and one.path != row.path]

    def close(self) -> None:
        """Nobody wants what is being looked for any more."""
        if self._scan is not None:
            self._scan.stop()


def look(number: int, scan: Scan, tell: Callable[[Looked], None]) -> None:
    """Look through all and tell it in batches. For a thread."""
    batch: list[Found] = []
    since = time.monotonic()
    error = ""
    try:
        for found in scan.run():
            batch.append(found)
            if time.monotonic() - since >= BATCH_SECONDS:
                tell(Looked(number, tuple(batch)))
                batch, since = [], time.monotonic()
    except OSError as broken:
        error = told_of(broken)
    tell(Looked(number, tuple(batch), done=True, error=error))


def with_size(row: RunRow, size: int | None) -> RunRow:
    """The row, with a size that was found before."""
    return replace(row, size=size)
