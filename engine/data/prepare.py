"""From the `data` section of a config to samples: read, check, render, mask, cut, count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np

from engine.data.audit.flags import Severity
from engine.data.audit.ledger import Ledger
from engine.data.audit.report import Report
from engine.data.audit.tokenizer_checks import tokenizer_flags
from engine.data.errors import BadRow, DataError
from engine.data.examine import Examiner, RowOptions
from engine.data.feeding.samples import Sample
from engine.data.feeding.split import capped, held_out, share_of
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import RawRow, SourceSpec

Progress = Callable[[int, int], None]

_ROWS_AT_ONCE = 256  # rows handed to the tokenizer together, which spreads them over the cores


class DataConfig(RowOptions, Protocol):
    """What is read of the config's `data` section."""

    @property
    def dataset(self) -> Sequence[str]: ...
    @property
    def eval_dataset(self) -> Sequence[str] | None: ...
    @property
    def eval_split(self) -> float | str | None: ...
    @property
    def eval_samples(self) -> int | None: ...
    @property
    def seed(self) -> int: ...
    @property
    def on_bad_row(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PreparedData:
    """Samples in the order of their rows; `eval` is empty where no evaluation set was asked for."""

    train: list[Sample]
    eval: list[Sample]
    report: Report


def prepare(config: DataConfig, tokenizer: Any, progress: Progress | None = None) -> PreparedData:
    """Make the samples of a run.

    Rows count from 0 over the training files and then the evaluation files. `progress(done, total)` is called with
    rows while they are tokenized.

    Raises:
        DataError: a file or (under `on_bad_row: stop`) a row cannot be used, or nothing is left to train.
    """
    ledger = Ledger()
    train_rows = Corpus([SourceSpec(path) for path in config.dataset])
    eval_rows = Corpus([SourceSpec(path) for path in config.eval_dataset or ()], first_row=len(train_rows))
    if not train_rows:
        raise DataError(
            f"There is no row to train on in {', '.join(config.dataset) or 'data.dataset, which is empty'}."
        )
    examiner = Examiner(tokenizer, config)
    stops = config.on_bad_row == "stop"
    maker = _SampleMaker(examiner, ledger, stops, progress, total=len(train_rows) + len(eval_rows))
    train = list(maker.samples(train_rows))
    evaluation = list(maker.samples(eval_rows))
    if config.eval_dataset is not None:
        evaluation = capped(evaluation, config.eval_samples, config.seed)
    elif config.eval_split is not None and train:
        train, evaluation = held_out(train, share_of(config.eval_split), config.eval_samples, config.seed)
    if not train:
        raise DataError(_nothing_left(ledger, held_out=len(evaluation)))
    if config.eval_dataset is not None and not evaluation:
        raise DataError(_nothing_to_evaluate(config.eval_dataset, len(eval_rows)))

    report = replace(
        ledger.report([*train_rows.files, *eval_rows.files], tokenizer_flags(tokenizer, examiner.renderer.facts)),
        train_rows=len(train),
        eval_rows=len(evaluation),
        tokens=sum(map(len, train)),
        loss_tokens=sum(sample.loss_tokens for sample in train),
    )
    for flag in report.flags:
        if flag.code == "ALL_TRAINED" and flag.severity is Severity.ERROR:
            raise DataError(f"ALL_TRAINED: {flag.message}.")
    return PreparedData(train, evaluation, report)


class _SampleMaker:
    """Turns rows into samples, batch by batch, and keeps the ledger."""

    def __init__(
        self, examiner: Examiner, ledger: Ledger, stops_at_bad_rows: bool, progress: Progress | None, total: int
    ) -> None:
        self._examiner = examiner
        self._ledger = ledger
        self._stops_at_bad_rows = stops_at_bad_rows
        self._progress = progress
        self._total = total
        self._done = 0

    def samples(self, rows: Iterable[RawRow | BadRow]) -> Iterator[Sample]:
        """The rows that have something to train within the limit of length."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _ROWS_AT_ONCE)):
            for examined in self._examiner.examine(batch):
                if examined.bad is not None and self._stops_at_bad_rows:
                    raise DataError(f"{examined.bad} (data.on_bad_row: skip leaves such rows out).")
                self._ledger.enter(examined)
                if examined.rendered is not None and examined.kept:
                    ids = np.array(examined.rendered.input_ids[: examined.kept], dtype=np.int32)
                    yield Sample(examined.row, ids, examined.has_loss[: examined.kept])
            self._done += len(batch)
            if self._progress is not None:
                self._progress(self._done, self._total)


def _nothing_to_evaluate(files: Sequence[str], rows: int) -> str:
    found = f"none of the {rows} rows has an answer within data.max_seq_length" if rows else "there is no row"
    return f"data.eval_dataset: {found} in {', '.join(files)}; give other files, or null to train without evaluation."


def _nothing_left(ledger: Ledger, held_out: int) -> str:
    if held_out:
        return "All rows were held out for evaluation (data.eval_split); nothing is left to train."
    bad = [f"{len(ledger.bad_rows)} are bad, the first: {ledger.bad_rows[0]}"] if ledger.bad_rows else []
    untrainable = [
        f"{flag.count} have nothing to train (NO_TRAINABLE_TOKENS), the first: {flag.message}"
        for flag in ledger.tally.summary()
        if flag.code == "NO_TRAINABLE_TOKENS"
    ]
    return f"No row is left to train on: {'; '.join(bad + untrainable)}."
