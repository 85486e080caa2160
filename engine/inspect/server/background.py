"""What is done between two requests, a little at a time: rows that may be asked about next, searches, the audit."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from engine.data.audit.report import Report
from engine.data.audit.reporting import report_of
from engine.errors import UserError
from engine.inspect.fill import Json, fill_of_packs
from engine.inspect.opening import Inspection
from engine.inspect.server.search import TextSearch
from engine.inspect.server.summaries import Summaries
from engine.inspect.validation import flags_of_all_rows, new_ledger

_ROWS_AT_ONCE, _CHARACTERS_AT_ONCE = 32, 50_000  # some ten milliseconds of work, then a request gets its turn
_SEARCHES_KEPT = 4
_SECONDS_TO_STOP = 2.0
_REST = 20
"""A report is not put together anew for so many times the time that it took."""


class Background:
    """Works in a thread of its own while nobody asks anything: on what will be asked for next, on the newest search,
    then on the audit."""

    def __init__(self, inspection: Inspection) -> None:
        self.summaries = Summaries(len(inspection.rows), inspection.limit)
        self.error: str | None = None
        self.fill: Json | None = None
        self._is_filled = not len(inspection.rows)
        self._inspection = inspection
        self._ledger = new_ledger(inspection)
        self._ledger_lock = threading.Lock()
        self._told: tuple[Report | None, int, float, float] = (None, 0, 0.0, 0.0)
        self._searches: OrderedDict[str, TextSearch] = OrderedDict()
        self._newest_search: TextSearch | None = None
        self._foreseen: deque[Callable[[], object]] = deque()
        self._may_work = threading.Event()
        self._has_work = threading.Event()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._work, name="audit", daemon=True)

    def start(self) -> None:
        """Begin with the audit."""
        self._may_work.set()
        self._has_work.set()
        self._thread.start()

    def stop(self) -> None:
        """End after the rows that are being looked at."""
        self._is_stopping = True
        self._may_work.set()
        self._has_work.set()
        self._thread.join(_SECONDS_TO_STOP)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Inside, no new piece of work is begun, so that a request is answered at once."""
        self._may_work.clear()
        try:
            yield
        finally:
            self._may_work.set()

    @property
    def is_finished(self) -> bool:
        """The audit has seen all rows, or cannot go on."""
        return self.error is not None or self._is_filled

    def report(self) -> Report:
        """What the audit has found so far; where it takes long to put together, what it had found a moment ago."""
        started = time.monotonic()
        report, done, told_at, cost = self._told
        if report is None or (done < self.summaries.done and (self.is_finished or started > told_at + _REST * cost)):
            with self._ledger_lock:
                done = self.summaries.done
                report = report_of(self._ledger, self._inspection.rows.files, flags_of_all_rows(self._inspection))
            told_at = time.monotonic()
            self._told = report, done, told_at, told_at - started
        return report

    def search(self, text: str) -> TextSearch:
        """The search for a text, begun if there is none yet; it goes on in the background."""
        search = self._searches.pop(text, None) or TextSearch(text, len(self._inspection.rows))
        self._searches[text] = self._newest_search = search
        while len(self._searches) > _SEARCHES_KEPT:
            self._searches.popitem(last=False)
        self._has_work.set()
        return search

    def foresee(self, works: Iterable[Callable[[], object]]) -> None:
        """Do these next, in this order, in place of what was foreseen before; what fails is told to who asks for it."""
        self._foreseen = deque(works)
        self._has_work.set()

    def _work(self) -> None:
        while True:
            self._has_work.wait()
            self._may_work.wait()
            if self._is_stopping:
                return
            self._has_work.clear()
            search, foreseen = self._newest_search, self._foreseen
            if foreseen:
                _error_of(foreseen.popleft(), "looking ahead")
            elif search is not None and not search.is_finished:
                search.error = _error_of(partial(self._go_on_searching, search), "the search")
            elif not self.is_finished:
                self.error = _error_of(self._go_on_auditing, "the audit")
            else:
                continue
            self._has_work.set()

    def _go_on_searching(self, search: TextSearch) -> None:
        for row in self._inspection.rows.read(*search.next_rows()):
            search.enter(row)

    def _go_on_auditing(self) -> None:
        rows, done = self._inspection.rows, self.summaries.done
        batch = next(rows.batches(done, len(rows), _ROWS_AT_ONCE, _CHARACTERS_AT_ONCE), [])
        examined = self._inspection.examiner.examine(batch)
        with self._ledger_lock:
            for one in examined:
                self._ledger.enter(one)
                self.summaries.enter(one)
        if self.summaries.done == len(self._inspection.rows):
            self.fill = fill_of_packs(self._inspection, self.summaries.kept())
            self._is_filled = True


def _error_of(work: Callable[[], object], name: str) -> str | None:
    """Why a piece of work cannot be done, for the screen; the traceback of a fault of ours goes to stderr."""
    try:
        work()
    except UserError as error:
        return str(error)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return f"{name} cannot go on: {type(error).__name__}: {error}"
    return None
