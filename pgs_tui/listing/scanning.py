"""Looks through runs: first what takes a moment each, then their sizes, and the logs that have no summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from engine.rundir import RunDir, list_runs
from pgs_tui.listing.finding import Place, Tally, find_runs
from pgs_tui.listing.foreign import KINDS, foreign_row, foreign_size
from pgs_tui.listing.foreign import WORKER as FOREIGN_WORKER
from pgs_tui.listing.reading import KnownSummary, read_row
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.sizes import size_on_disk
from pgs_tui.listing.summing import Summing, remember, remembered


@dataclass(frozen=True, slots=True)
class Found:
    """A run, or more about one; `left` says of how many there is still more to be found out."""

    row: RunRow
    left: int = 0


class Scan(Protocol):
    """A look through runs, here or elsewhere. For a thread; `stop` may come from another one."""

    tally: Tally

    def run(self) -> Iterator[Found]:
        """Each run, then each once more with what takes longer. Raises OSError where nothing can be looked at."""
        ...

    def stop(self) -> None:
        """Nobody wants the rest."""
        ...


class LocalScan:
    """Looks below `folder`, or of None at the runs that are registered. `known` are the rows of the look before."""

    def __init__(self, folder: Path | None, known: Mapping[Path, RunRow] | None = None) -> None:
        self.tally = Tally()
        self._folder = folder
        self._known = known or {}
        self._summing = Summing()
        self._summing_foreign = Summing(FOREIGN_WORKER)
        self._remembered: dict[Path, KnownSummary] = {}

    def run(self) -> Iterator[Found]:
        """Rows as they are found, then sizes and summaries. Raises OSError where the folder cannot be looked at."""
        if self._folder is not None:
            self._folder.stat()
        self._remembered = remembered()
        rows = []
        for place in self._places():
            if self.tally.stop:
                return
            row = self._read(place)
            rows.append(row)
            yield Found(row)
        for path, why in self.tally.unreadable.items():
            yield Found(RunRow(path=path, shown=self._shown(path), name=path.name, trouble=f"may not be read: {why}"))
        yield from self._more_of(rows)

    def stop(self) -> None:
        self.tally.stop = True
        self._close()

    def _close(self) -> None:
        self._summing.close()
        self._summing_foreign.close()

    def _places(self) -> Iterable[Place]:
        if self._folder is not None:
            return find_runs(self._folder, self.tally)
        return (Place(run.path) for run in list_runs())

    def _read(self, place: Place) -> RunRow:
        path, known = place.path, self._known.get(place.path)
        summary = _summary_in(known) or self._remembered.get(path)
        if place.tool is not None:
            row = foreign_row(path, self._shown(path), place.tool, summary)
        else:
            row = read_row(path, self._shown(path), summary)
        if known is None:
            return row
        if row.must_sum:
            row = replace(row, summary=row.summary or known.summary, cannot_sum=known.cannot_sum)
        return replace(row, size=known.size if _has_same_files(row, known) else None)

    def _shown(self, path: Path) -> str:
        if self._folder is None or not path.is_relative_to(self._folder):
            return str(path)
        return path.relative_to(self._folder).as_posix() if path != self._folder else path.name

    def _more_of(self, rows: list[RunRow]) -> Iterator[Found]:
        waiting = [row for row in rows if row.size is None or (row.must_sum and not row.cannot_sum)]
        summed = False
        for place, row in enumerate(waiting):
            if self.tally.stop:
                return
            more = row if row.size is not None else replace(row, size=_size_of(row))
            if row.must_sum and not row.cannot_sum:
                more = self._summed(more)
                summed = summed or not more.must_sum
            yield Found(more, len(waiting) - place - 1)
        if summed:
            remember(self._remembered)
        self._close()

    def _summed(self, row: RunRow) -> RunRow:
        if row.tool is not None:
            summary = self._summing_foreign.summed_up(KINDS[row.tool], str(row.path))
        else:
            summary = self._summing.summed_up(str(RunDir(row.path).events))
        if self.tally.stop:
            return row
        if summary is None or row.log_inode is None:
            return replace(row, cannot_sum=True)
        self._remembered[row.path] = KnownSummary(row.log_inode, summary)
        if row.tool is not None:
            return replace(row, summary=summary, must_sum=False)
        again = read_row(row.path, row.shown, self._remembered[row.path])
        return replace(again, size=row.size, summary=again.summary or summary, cannot_sum=again.must_sum)


def _size_of(row: RunRow) -> int:
    return foreign_size(row) if row.tool is not None else size_on_disk(row.path)


def _summary_in(row: RunRow | None) -> KnownSummary | None:
    """What was found of a run's whole log the last time."""
    if row is None or row.summary is None or row.log_inode is None or row.must_sum:
        return None
    return KnownSummary(row.log_inode, row.summary)


def _has_same_files(row: RunRow, known: RunRow) -> bool:
    """Whether nothing large was written or removed since, as far as the log tells."""
    if row.tool is not None:
        return row.log_inode == known.log_inode
    if row.summary is None or known.summary is None:
        return row.summary is known.summary
    return (row.summary.checkpoint, row.life) == (known.summary.checkpoint, known.life)
