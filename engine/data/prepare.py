"""From the `data` section of a config to samples: read, check, render, mask, tokenize, cut, count, hold out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine.data.audit.flags import Severity
from engine.data.audit.long_rows import about_long_rows
from engine.data.audit.report import Report
from engine.data.audit.tokenizer_checks import tokenizer_flags
from engine.data.cache import DataCache, cache_key
from engine.data.errors import DataError
from engine.data.examine import Examiner, RowOptions
from engine.data.feeding.split import capped, held_out
from engine.data.feeding.store import SampleStore
from engine.data.sources.corpus import Corpus, Span
from engine.data.sources.rows import ReadProgress
from engine.data.sources.specs import SourcesConfig, specs_of
from engine.data.tokenized import FirstLook, Progress, Tokenized, Tokenizing


class DataConfig(RowOptions, SourcesConfig, Protocol):
    """What is read of the config's `data` section."""

    @property
    def eval_samples(self) -> int | None: ...
    @property
    def packing(self) -> bool: ...
    @property
    def seed(self) -> int: ...
    @property
    def on_bad_row(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PreparedData:
    """Samples in the order of their rows; `eval` is empty where no evaluation set was asked for.

    `spans` tells which rows of the training data come from which source, those held out among them.
    """

    train: SampleStore
    eval: SampleStore
    report: Report
    spans: tuple[Span, ...] = ()


def prepare(
    config: DataConfig,
    tokenizer: Any,
    progress: Progress | None = None,
    first_look: FirstLook | None = None,
    say: Callable[[str], None] | None = None,
    reading: ReadProgress | None = None,
) -> PreparedData:
    """Make the samples of a run, out of the cache where the same rows were tokenized in the same way before.

    Rows count from 0 over the training files and then the evaluation files. `progress(done, total)` is called with
    rows while they are tokenized, `first_look` with what the first rows of a large set showed, `say` with a line for
    people about the cache, `reading` with the bytes of a download and of the first reading of the files.

    Raises:
        DataError: a file or (under `on_bad_row: stop`) a row cannot be used, or nothing is left to train, or all of it
            is trained, questions as well.
    """
    train_sources, eval_sources = specs_of(config)
    train_rows = Corpus(train_sources, progress=reading)
    eval_rows = Corpus(eval_sources, first_row=len(train_rows), progress=reading)
    if not train_rows:
        named = ", ".join(source.path for source in train_sources)
        raise DataError(f"There is no row to train on in {named or 'data.dataset, which is empty'}.")
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


def prepared_before(config: DataConfig, tokenizer: Any, train_rows: Corpus, eval_rows: Corpus) -> PreparedData | None:
    """The samples that `prepare` would make of these rows, where the cache has them; else None. Nothing is tokenized.

    Raises:
        DataError: as `prepare`, of what is in the cache.
    """
    cache = DataCache.of_this_user()
    tokenized = cache.load(cache_key(config, tokenizer, (train_rows, eval_rows))) if cache else None
    return _prepared(config, tokenized, train_rows, eval_rows) if tokenized is not None else None


def _prepared(config: DataConfig, tokenized: Tokenized, train_rows: Corpus, eval_rows: Corpus) -> PreparedData:
    """Which samples train and which evaluate; refuses a set that cannot be trained on."""
    samples, report = tokenized.samples, tokenized.report
    border = int(samples.rows.searchsorted(eval_rows.first_row))
    train, evaluation = samples[:border], samples[border:]
    has_own_eval_rows = config.eval_dataset is not None or isinstance(config.eval_split, str)
    if has_own_eval_rows:
        evaluation = capped(evaluation, config.eval_samples, config.seed)
    elif isinstance(config.eval_split, float) and len(train):
        train, evaluation = held_out(train, config.eval_split, config.eval_samples, config.seed)
    if not len(train):
        raise DataError(_nothing_left(report, held_out=len(evaluation)))
    if has_own_eval_rows and not len(evaluation):
        raise DataError(_nothing_to_evaluate(config, eval_rows))
    for flag in report.flags:
        if flag.code == "ALL_TRAINED" and flag.severity is Severity.ERROR:
            raise DataError(f"{flag.message} ({flag.code}).")
    padded = () if config.packing else about_long_rows(train.lengths, train.rows, report.places)
    counts = replace(
        report,
        flags=tuple(sorted([*report.flags, *padded], key=lambda flag: -flag.severity.rank)),
        train_rows=len(train),
        eval_rows=len(evaluation),
        tokens=int(train.lengths.sum()),
        loss_tokens=int(train.loss_lengths.sum()),
    )
    return PreparedData(train, evaluation, counts, tuple(train_rows.spans))


def _nothing_to_evaluate(config: DataConfig, rows: Corpus) -> str:
    key = "data.eval_split" if config.eval_dataset is None else "data.eval_dataset"
    found = f"none of the {len(rows)} rows has an answer within data.max_seq_length" if rows else "there is no row"
    files = ", ".join(span.spec.path for span in rows.spans)
    return f"{key}: {found} in {files}; give other data, or null to train without evaluation."


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
