"""Rows through the tokenizer, once for all that a run does with them."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from engine.data.audit.flags import AuditFlag, Severity
from engine.data.audit.ledger import Ledger
from engine.data.audit.report import Report
from engine.data.audit.reporting import report_of
from engine.data.errors import BadRow, DataError
from engine.data.examine import Examined, Examiner
from engine.data.feeding.store import SampleStore, StoreBuilder
from engine.data.row_batches import batched
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import RawRow

Progress = Callable[[int, int], None]
FirstLook = Callable[[Report], None]

FIRST_LOOK_ROWS = 200
"""After so many rows the audit speaks for the first time, so that a wrong set is refused at once."""
FIRST_LOOK_FROM = 2000
"""Sets smaller than this are through in no time and are audited once."""

_THREADS = 2  # while one waits for the tokenizer, which needs no interpreter, the other renders
_ROWS_AT_ONCE = range(256, 4097)  # large batches cost the tokenizer less, but several have to share the work
_CHARACTERS_AT_ONCE = 2_000_000  # tokens on their way need some 200 bytes each, and three batches are on their way


@dataclass(frozen=True, slots=True)
class Tokenized:
    """The samples of all rows, those to evaluate on behind those to train on, and what became of the rows."""

    samples: SampleStore
    report: Report


@dataclass(slots=True)
class Tokenizing:
    """One passage of all rows through the tokenizer.

    `corpora` are the rows to train on and those to evaluate on. `about_tokenizer` are findings that concern every row.
    """

    examiner: Examiner
    corpora: Sequence[Corpus]
    stops_at_bad_rows: bool
    about_tokenizer: Sequence[AuditFlag] = ()
    progress: Progress | None = None
    first_look: FirstLook | None = None

    def run(self) -> Tokenized:
        """Tokenize everything.

        Raises:
            DataError: a row is bad and bad rows stop the run, or the first rows show that the set is wrong.
        """
        with _collecting_seldom():
            return self._run()

    def _run(self) -> Tokenized:
        ledger, builder = Ledger(), StoreBuilder()
        total, done = sum(map(len, self.corpora)), 0
        looks_early = total >= FIRST_LOOK_FROM
        rows = (row for corpus in self.corpora for row in corpus)
        most = min(max(total // 8, _ROWS_AT_ONCE[0]), _ROWS_AT_ONCE[-1])
        for batch in self._examined(_batches(rows, FIRST_LOOK_ROWS if looks_early else most, most)):
            for examined in batch:
                self._enter(examined, ledger, builder)
            if looks_early and not done:
                self._look(ledger)
            done += len(batch)
            if self.progress is not None:
                self.progress(done, total)
        return Tokenized(builder.build(), self._report(ledger))

    def _examined(self, batches: Iterable[list[RawRow | BadRow]]) -> Iterator[list[Examined]]:
        """The results of the batches in order, worked out by several threads some batches ahead."""
        pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="tokenize")
        waiting: deque[Future[list[Examined]]] = deque()
        try:
            for batch in batches:
                waiting.append(pool.submit(self.examiner.examine, batch))
                if len(waiting) > _THREADS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _enter(self, examined: Examined, ledger: Ledger, builder: StoreBuilder) -> None:
        if examined.bad is not None and self.stops_at_bad_rows:
            raise DataError(f"{examined.bad} (data.on_bad_row: skip leaves such rows out).")
        ledger.enter(examined)
        if examined.rendered is not None and examined.kept:
            builder.add(examined.row, examined.rendered.ids[: examined.kept], examined.has_loss[: examined.kept])

    def _report(self, ledger: Ledger) -> Report:
        files = [file for corpus in self.corpora for file in corpus.files]
        return report_of(ledger, files, self.about_tokenizer)

    def _look(self, first: Ledger) -> None:
        """Tell what the first rows show. A set that looks wrong is refused if rows from all over it look so, too."""
        report = self._report(first)
        if self.first_look is not None:
            self.first_look(report)
        if not any(flag.severity is Severity.ERROR for flag in report.flags):
            return
        others = Ledger()
        for examined in self.examiner.examine(list(_from_all_over(self.corpora[0], FIRST_LOOK_ROWS))):
            others.enter(examined)
        also = {flag.code for flag in self._report(others).flags if flag.severity is Severity.ERROR}
        for flag in report.flags:
            if flag.severity is Severity.ERROR and flag.code in also:
                raise DataError(
                    f"The first {FIRST_LOOK_ROWS} rows and {FIRST_LOOK_ROWS} others from all over the data cannot be "
                    f"trained on: {flag.message} ({flag.code})."
                )


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Rows make many objects and no cycles among them; to look for cycles would take a fifth of the time."""
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _from_all_over(corpus: Corpus, count: int) -> Iterator[RawRow | BadRow]:
    """`count` rows at even distances."""
    for number in range(count):
        yield corpus.at(corpus.first_row + number * len(corpus) // count)


def _batches(rows: Iterable[RawRow | BadRow], first: int, most: int) -> Iterator[list[RawRow | BadRow]]:
    """The rows in batches: `first` of them, and then at most `most`, fewer where they are long."""
    remaining = iter(rows)
    if batch := list(islice(remaining, first)):
        yield batch
    yield from batched(remaining, most, _CHARACTERS_AT_ONCE)
