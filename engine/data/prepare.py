"""From the `data` section of a config to samples: read, check, render, mask, cut, count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from engine.data.checks import conversation_flags, rendering_flags, tokenizer_flags
from engine.data.conversation import Conversation, parse_conversation
from engine.data.errors import BadRow, BadRowError, DataError
from engine.data.flags import Severity
from engine.data.ledger import Ledger
from engine.data.render import Rendered, Renderer
from engine.data.samples import Place, PreparedData, Report, Sample
from engine.data.sources import JsonlReader, RawRow
from engine.data.split import capped, held_out, share_of
from engine.labels import IGNORED_LABEL

Progress = Callable[[int, int], None]

_ROWS_AT_ONCE = 256  # rows handed to the tokenizer together, which spreads them over the cores


class DataConfig(Protocol):
    """What is read of the config's `data` section."""

    @property
    def dataset(self) -> Sequence[str]: ...
    @property
    def messages_field(self) -> str: ...
    @property
    def max_seq_length(self) -> int: ...
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
    @property
    def train_on_template_text(self) -> bool: ...


def prepare(config: DataConfig, tokenizer: Any, progress: Progress | None = None) -> PreparedData:
    """Make the samples of a run.

    Rows count from 0 over the training files and then the evaluation files. `progress(done, total)` is called with
    rows while they are tokenized.

    Raises:
        DataError: a file or (under `on_bad_row: stop`) a row cannot be used, or nothing is left to train.
    """
    ledger = Ledger(stops_at_bad_rows=config.on_bad_row == "stop")
    reader = JsonlReader()
    train_rows = _read(reader, config.dataset, ledger)
    eval_rows = _read(reader, config.eval_dataset or (), ledger)
    if not train_rows and not ledger.bad_rows:
        raise DataError(
            f"There is no row to train on in {', '.join(config.dataset) or 'data.dataset, which is empty'}."
        )

    renderer = Renderer(tokenizer, config.train_on_template_text)
    maker = _SampleMaker(config, renderer, ledger, progress, total=len(train_rows) + len(eval_rows))
    train = list(maker.samples(train_rows))
    evaluation = list(maker.samples(eval_rows))
    kept = len(train) + len(evaluation)
    if config.eval_dataset is not None:
        evaluation = capped(evaluation, config.eval_samples, config.seed)
    elif config.eval_split is not None and train:
        train, evaluation = held_out(train, share_of(config.eval_split), config.eval_samples, config.seed)
    if not train:
        raise DataError(_nothing_left(ledger, held_out=len(evaluation)))
    if config.eval_dataset is not None and not evaluation:
        raise DataError(_nothing_to_evaluate(config.eval_dataset, len(eval_rows)))

    report = Report(
        rows_read=len(ledger.places),
        rows_kept=kept,
        rows_dropped=ledger.dropped,
        rows_truncated=ledger.truncated,
        rows_without_end=ledger.without_end,
        train_rows=len(train),
        eval_rows=len(evaluation),
        tokens=sum(len(sample.input_ids) for sample in train),
        loss_tokens=sum(sample.loss_tokens for sample in train),
        longest=ledger.longest,
        bad_rows=tuple(ledger.bad_rows),
        flags=(*ledger.flags(reader.files), *tokenizer_flags(tokenizer, renderer.facts)),
        places=ledger.places,
        data_hashes={str(file.path): file.sha256 for file in reader.files},
    )
    return PreparedData(train, evaluation, report)


def _read(reader: JsonlReader, paths: Sequence[str], ledger: Ledger) -> list[RawRow]:
    rows: list[RawRow] = []
    for item in reader.read([Path(path) for path in paths]):
        if isinstance(item, BadRow):
            ledger.refuse(item)
        else:
            ledger.places[item.row] = Place(item.file, item.line)
            rows.append(item)
    return rows


class _SampleMaker:
    """Turns rows into samples, batch by batch, and keeps the ledger."""

    def __init__(
        self, config: DataConfig, renderer: Renderer, ledger: Ledger, progress: Progress | None, total: int
    ) -> None:
        self._config = config
        self._renderer = renderer
        self._ledger = ledger
        self._progress = progress
        self._total = total
        self._done = 0

    def samples(self, rows: Iterable[RawRow]) -> Iterator[Sample]:
        """The rows that have something to train within the limit of length."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _ROWS_AT_ONCE)):
            conversations = [chat for chat in map(self._conversation, batch) if chat is not None]
            for rendered in self._renderer.render(conversations):
                if isinstance(rendered, BadRow):
                    self._ledger.refuse(rendered)
                elif (sample := self._sample(rendered)) is not None:
                    yield sample
            self._done += len(batch)
            if self._progress is not None:
                self._progress(self._done, self._total)

    def _conversation(self, raw: RawRow) -> Conversation | None:
        try:
            return parse_conversation(raw, self._config.messages_field)
        except BadRowError as error:
            self._ledger.refuse(error.bad_row)
            return None

    def _sample(self, rendered: Rendered) -> Sample | None:
        conversation, ledger, limit = rendered.conversation, self._ledger, self._config.max_seq_length
        for flag in (*conversation_flags(conversation), *rendering_flags(rendered, self._renderer.facts)):
            ledger.add(flag)
        labels = rendered.labels
        sample = Sample(conversation.row, rendered.input_ids[:limit], labels[:limit])
        if not sample.loss_tokens:
            ledger.dropped += 1
            ledger.note(conversation, "NO_TRAINABLE_TOKENS", Severity.WARNING, _no_trainable_tokens(labels, limit))
            return None
        ledger.longest = max(ledger.longest, len(sample.input_ids))
        if len(labels) > limit:
            ledger.truncated += 1
            message = f"{len(labels)} tokens are over the limit of {limit} (data.max_seq_length); the rest is cut off"
            ledger.note(conversation, "TRUNCATED", Severity.WARNING, message)
        if _is_cut_in_an_answer(labels, limit):
            ledger.without_end += 1
            message = f"the limit of {limit} tokens falls into an answer, which loses its end"
            ledger.note(conversation, "END_TOKEN_CUT", Severity.WARNING, message)
        return sample


def _no_trainable_tokens(labels: list[int], limit: int) -> str:
    length = f"{len(labels)} tokens, limit {limit}"
    if any(label != IGNORED_LABEL for label in labels):
        return f"nothing to train within the limit of length, the row is left out ({length})"
    return f"no answer to train, the row is left out ({length})"


def _is_cut_in_an_answer(labels: list[int], limit: int) -> bool:
    return len(labels) > limit and labels[limit - 1] != IGNORED_LABEL and labels[limit] != IGNORED_LABEL


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
