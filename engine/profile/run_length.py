"""How many steps a run takes, as far as its data tells without a download and without tokenizing anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.config import Config
from engine.data.errors import DataError
from engine.data.feeding.shares import shares_of
from engine.data.feeding.split import places_held_out
from engine.data.prepare import PreparedData, prepared_before
from engine.data.sources.corpus import Corpus, Span
from engine.data.sources.folder import data_files
from engine.data.sources.rows import SourceSpec
from engine.data.sources.specs import specs_of
from engine.data.training_order import make_sampler, padding_share
from engine.datasets_named import is_hub_name
from engine.errors import UserError
from engine.memory.advice.work import RunLength
from engine.model.architectures import shipped_folder
from engine.model.hub import is_local
from engine.model.tokenizer import load_tokenizer

LARGEST_READ = 1 << 30
"""Bytes of data that are read to count its rows; more would keep the answer waiting."""


@dataclass(frozen=True, slots=True)
class KnownData:
    """What is known of a config's data: its rows and, where they were tokenized before, its samples.

    `reason` says why nothing more is known.
    """

    spans: tuple[Span, ...] = ()
    prepared: PreparedData | None = None
    reason: str = ""


def known_data(config: Config) -> KnownData:
    """Look at files on this machine, and at what the cache keeps of them."""
    train_sources, eval_sources = specs_of(config.data)
    reason = _why_not_read((*train_sources, *eval_sources))
    if reason:
        return KnownData(reason=reason)
    try:
        train = Corpus(train_sources)
        evaluation = Corpus(eval_sources, first_row=len(train))
        return KnownData(tuple(train.spans), _prepared(config, train, evaluation))
    except (DataError, OSError) as error:
        return KnownData(reason=str(error))


def run_length(config: Config, known: KnownData) -> RunLength:
    """The steps of an epoch and of the run, with what that rests on."""
    if known.prepared is not None:
        return _of_samples(config, known.prepared)
    if known.reason or config.data.packing:
        reason = known.reason or "this data was not tokenized here before, so its packs are not known; a run keeps them"
        return _unknown(config, reason)
    return _of_rows(config, known.spans)


def _why_not_read(sources: Sequence[SourceSpec]) -> str:
    """Empty where there are files on this machine, and not too many to count."""
    if not sources:
        return "the config names no data"
    size = 0
    for source in sources:
        if is_hub_name(source.path, Path()):
            return f"{source.path} is on the hub, from which nothing is downloaded for an estimate"
        path = Path(source.path).expanduser()
        try:
            size += sum(file.stat().st_size for file in (data_files(path, source.split) if path.is_dir() else [path]))
        except (OSError, DataError):
            return f"{path} cannot be read"
    return (
        f"the data has more than {LARGEST_READ >> 30} GiB, which is not read for an estimate"
        if size > LARGEST_READ
        else ""
    )


def _prepared(config: Config, train: Corpus, evaluation: Corpus) -> PreparedData | None:
    folder = _tokenizer_folder(config)
    if folder is None:
        return None
    try:
        return prepared_before(config.data, load_tokenizer(folder, config.model), train, evaluation)
    except DataError:
        raise
    except UserError:  # no tokenizer that could be loaded: then nothing was tokenized with it here
        return None


def _tokenizer_folder(config: Config) -> Path | None:
    """Where a run would find the tokenizer without a download."""
    name = config.model.name_or_path
    if is_local(name):
        return Path(name).expanduser()
    if config.model.init == "random" and (shipped := shipped_folder(name)):
        return shipped
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "tokenizer.json") if name.count("/") == 1 else None
    return Path(found).parent if isinstance(found, str) else None


def _of_samples(config: Config, data: PreparedData) -> RunLength:
    train = config.train
    sampler = make_sampler(config, data, packs=config.data.packing)
    notes = [f"steps: {len(data.train):,} samples of this data, as a run before had them"]
    slots: float | None = None
    if not config.data.packing:
        lengths = [sampler.lengths[index] for (index,) in sampler.order]
        padded = sum(lengths) / (1 - padding_share(lengths, train.per_device_batch_size))
        slots = padded / len(lengths) * min(sampler.batch_size, len(lengths))
    total = train.max_steps or sampler.steps_in(train.epochs)
    return RunLength(sampler.steps_per_epoch, total, slots, tuple(notes))


def _of_rows(config: Config, spans: Sequence[Span]) -> RunLength:
    train, data = config.train, config.data
    rows = sum(share.count(0) for share in shares_of(range(spans[-1].stop), spans))
    if isinstance(data.eval_split, float):
        rows -= len(places_held_out(rows, data.eval_split, data.eval_samples, data.seed))
    if rows == 0:
        return _unknown(config, "there is no row to train on")
    batch = train.per_device_batch_size * train.gradient_accumulation_steps
    total = train.max_steps or max(1, math.ceil(rows * train.epochs / batch))
    note = f"steps: counted from {rows:,} rows; a run leaves those out that cannot be trained on"
    return RunLength(math.ceil(rows / batch), total, None, (note,))


def _unknown(config: Config, reason: str) -> RunLength:
    text = reason.rstrip(".")
    return RunLength(None, config.train.max_steps, None, (f"steps: those of an epoch are not known: {text}",))
