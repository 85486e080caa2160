"""From the `data` section of a config to samples: read, check, render, mask, tokenize, cut, count, hold out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.data.audit.flags import Severity
from engine.data.audit.report import Report
from engine.data.audit.tokenizer_checks import tokenizer_flags
from engine.data.cache import DataCache, cache_key
from engine.data.errors import DataError
from engine.data.examine import Examiner, RowOptions
from engine.data.feeding.split import capped, held_out, share_of
from engine.data.feeding.store import SampleStore
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import SourceSpec
from engine.data.tokenized import FirstLook, Progress, Tokenized, Tokenizing


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

    train: SampleStore
    eval: SampleStore
    report: Report


def prepare(
    config: DataConfig,
    tokenizer: Any,
    progress: Progress | None = None,
    first_look: FirstLook | None = None,
    say: Callable[[str], None] | None = None,
) -> PreparedData:
    """Make the samples of a run, out of the cache where the same rows were tokenized in the same way before.

    Rows count from 0 over the training files and then the evaluation files. `progress(done, total)` is called with
    rows while they are tokenized, `first_look` with what the first rows of a large set showed, `say` with a line for
    people about the cache.

    Raises:
        DataError: a file or (under `on_bad_row: stop`) a row cannot be used, or nothing is left to train, or all of it
            is trained, questions as well.
    """
    train_rows = Corpus([SourceSpec(path) for path in config.dataset])
    eval_rows = Corpus([SourceSpec(path) for path in config.eval_dataset or ()], first_row=len(train_rows))
    if not train_rows:
        raise DataError(
            f"There is no row to train on in {', '.join(config.dataset) or 'data.dataset, which is empty'}."
        )
    examiner = Examiner(tokenizer, config)
    work = Tokenizing(
        examiner,
        (train_rows, eval_rows),
        config.on_bad_row == "stop",
        tuple(tokenizer_flags(tokenizer, examiner.renderer.facts)),
        progress,
        first_look,
    )
    cache = DataCache.of_this_user(say)
    tokenized = cache.load_or_make(cache_key(config, tokenizer, work.corpora), work.run) if cache else work.run()
    return _prepared(config, tokenized, train_rows, eval_rows)


def _prepared(config: DataConfig, tokenized: Tokenized, train_rows: Corpus, eval_rows: Corpus) -> PreparedData:
    """Which samples train and which evaluate; refuses a set that cannot be trained on."""
    samples, report = tokenized.samples, tokenized.report
    border = int(samples.rows.searchsorted(eval_rows.first_row))
    train, evaluation = samples[:border], samples[border:]
    if config.eval_dataset is not None:
        evaluation = capped(evaluation, config.eval_samples, config.seed)
    elif config.eval_split is not None and len(train):
        train, evaluation = held_out(train, share_of(config.eval_split), config.eval_samples, config.seed)
    if not len(train):
        raise DataError(_nothing_left(report, held_out=len(evaluation)))
    if config.eval_dataset is not None and not len(evaluation):
        raise DataError(_nothing_to_evaluate(config.eval_dataset, len(eval_rows)))
    for flag in report.flags:
        if flag.code == "ALL_TRAINED" and flag.severity is Severity.ERROR:
            raise DataError(f"{flag.message} ({flag.code}).")
    counts = replace(
        report,
        train_rows=len(train),
        eval_rows=len(evaluation),
        tokens=int(train.lengths.sum()),
        loss_tokens=int(train.loss_lengths.sum()),
    )
    return PreparedData(train, evaluation, counts)


def _nothing_to_evaluate(files: Sequence[str], rows: int) -> str:
    found = f"none of the {rows} rows has an answer within data.max_seq_length" if rows else "there is no row"
    return f"data.eval_dataset: {found} in {', '.join(files)}; give other files, or null to train without evaluation."


def _nothing_left(report: Report, held_out: int) -> str:
    if held_out:
        return "All rows were held out for evaluation (data.eval_split); nothing is left to train."
    bad = [f"{report.rows_bad} are bad, the first: {report.bad_rows[0]}"] if report.bad_rows else []
    untrainable = [
        f"{flag.count} have nothing to train (NO_TRAINABLE_TOKENS), the first: {flag.message}"
        for flag in report.flags
        if flag.code == "NO_TRAINABLE_TOKENS"
    ]
    return f"No row is left to train on: {'; '.join(bad + untrainable)}."
