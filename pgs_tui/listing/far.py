"""The runs of a folder on another machine: all of them in one answer of its shell."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.events.summary import MOST_BYTES, RunSummary, summary_of_text
from engine.rundir import Liveness, judged
from pgs_tui.listing.finding import LEVELS, MOST_FOLDERS, Tally
from pgs_tui.listing.labels import labels_of_text
from pgs_tui.listing.log_end import fold, with_its_end
from pgs_tui.listing.reading import end_of, name_in
from pgs_tui.listing.row import RunRow
from pgs_tui.listing.scanning import Found
from pgs_tui.remote.address import Address
from pgs_tui.remote.facts import Facts, facts_of
from pgs_tui.remote.far_shell import Answer, FarShell
from pgs_tui.remote.lost import LinkLostError
from pgs_tui.remote.programs import LIST
from pgs_tui.remote.ssh import Connection

TAIL_BYTES = 32 * 1024
"""Of each log, for what came since its summary was written."""
PATIENCE = 60.0
"""Seconds without a byte: `du` over there may have many files to look at."""
MOST_RUNS = 2000
MOST_PART_BYTES = 2 * MOST_BYTES
"""Of each part; what is longer is none of ours, and dropped."""
UNREAD = "may not be read: events.jsonl holds something, and nothing of it comes"
_KIB = 1024


@dataclass(frozen=True, slots=True)
class _Place:
    """The folder in full, and the machine as a person names it."""

    target: str
    folder: Path


class FarScan:
    """Looks at the runs below `address`, as deep as here. `run` once."""

    def __init__(self, address: Address) -> None:
        self.tally = Tally()
        self._address = address
        self._shell: FarShell | None = None

    def run(self) -> Iterator[Found]:
        """Each run with all that is to be known of it. Raises LinkLostError (an OSError), FileNotFoundError."""
        connection = Connection(self._address.host)
        try:
            yield from self._look(connection)
        finally:
            connection.leave()

    def _look(self, connection: Connection) -> Iterator[Found]:
        if not connection.stands():
            connection.reopen()
        self._shell = connection.shell()
        if self.tally.stop:
            self._shell.close()
            return
        try:
            yield from self._rows(self._shell)
        except LinkLostError:
            if not self.tally.stop:
                raise
        finally:
            self._shell.close()

    def stop(self) -> None:
        self.tally.stop = True
        if self._shell is not None:
            self._shell.close()

    def _rows(self, shell: FarShell) -> Iterator[Found]:
        answers = _by_run(
            shell.pieces(LIST, self._address.far_path, TAIL_BYTES, LEVELS, MOST_FOLDERS, patience=PATIENCE)
        )
        first = next(answers)
        self.tally.cut = "cut" in first
        folder = first.get("folder", b"").decode(errors="surrogateescape").rstrip("\n")
        if not folder:
            raise FileNotFoundError(f"{self._address.target} has no folder {self._address.path or '~'}")
        place = _Place(self._address.target, Path(folder))
        for number, told in enumerate(answers):
            if self.tally.stop:  # it had come already
                return
            if number == MOST_RUNS or "cut" in told:
                self.tally.cut = True
                return
            yield Found(_row(told, place, time.time()))


def _by_run(pieces: Iterator[tuple[str, bytes]]) -> Iterator[Mapping[str, bytes]]:
    """First what is told of the folder, then of each run."""
    told: dict[str, bytes] = {}
    for name, data in pieces:
        if data:
            if len(told[name]) <= MOST_PART_BYTES:
                told[name] += data
            continue
        if told and name in ("name", "done"):
            yield told
            told = {}
        if name != "done" and not name.startswith("end "):
            told[name] = b""
    if told:
        yield told


def _row(told: Mapping[str, bytes], place: _Place, now: float) -> RunRow:
    answer = Answer(tuple(told.items()))
    name = told["name"].decode(errors="surrogateescape")
    path = place.folder if name == "." else place.folder / name
    shown = path.name if name == "." else name
    facts = facts_of(answer, now)
    info, (summary, is_whole) = facts.info, _summary(answer, facts)
    if facts.log is not None and facts.log.size and not answer["tail"]:
        return RunRow(path=path, shown=shown, name=name_in(path.name), where=place.target, trouble=UNREAD)
    return RunRow(
        path=path,
        shown=shown,
        name=info.name if info else name_in(path.name),
        where=place.target,
        life=_life(facts, summary, now),
        started=info.started if info else None,
        host=info.host if info else "",
        started_by=info.started_by if info else "",
        parent=info.parent if info else None,
        summary=summary,
        must_sum=not is_whole,
        cannot_sum=not is_whole,
        size=_size(answer.text("disk")),
        labels=labels_of_text(answer["notes"]),
        trouble="" if info else "its run.json cannot be read" if answer["run"] else "it has no run.json",
    )


def _summary(answer: Answer, facts: Facts) -> tuple[RunSummary | None, bool]:
    """What its engine wrote, and what came in the log since; False where not all of that is there."""
    tail, size = answer["tail"], facts.log.size if facts.log else None
    summary = summary_of_text(answer["summary"])
    known = 0 if summary is None else summary.log_bytes
    begin = None if size is None else size - len(tail)
    if begin is not None and begin <= known <= begin + len(tail):
        summary = summary or RunSummary()
        summary.log_bytes = known + fold(summary, tail[known - begin :])
        return summary, True
    return with_its_end(summary, tail), False


def _life(facts: Facts, summary: RunSummary | None, now: float) -> Liveness:
    """By what that machine knows of the process; a run that never told who it is has ended."""
    ended = end_of(summary) if summary else None
    if facts.info is None:
        return ended[1] if ended else "killed"
    last = summary.last_t if summary else None
    return judged(facts.info, facts.process, ended, None if last is None else now + facts.skew - last)


def _size(text: str) -> int | None:
    """What `du -sk` says."""
    word = text.split(maxsplit=1)[0] if text else ""
    return int(word) * _KIB if word.isdecimal() else None
