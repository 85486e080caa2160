"""From a config to its rows and to what examines them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.config import Config, Loaded
from engine.config.schema import Model
from engine.data.audit.flags import AuditFlag
from engine.data.audit.tokenizer_checks import tokenizer_flags
from engine.data.encoding.token_bytes import TokenBytes
from engine.data.errors import DataError
from engine.data.examine import Examiner
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import ReadProgress
from engine.data.sources.specs import specs_of
from engine.inspect.rows import Rows
from engine.inspect.torchless import load_tokenizer_without_torch
from engine.model.hub import tokenizer_folder

_TOKENIZER = "loading the tokenizer"


@dataclass(frozen=True)
class Inspection:
    """All that looking at the data of a config takes."""

    loaded: Loaded
    tokenizer: Any
    rows: Rows
    examiner: Examiner

    @property
    def config(self) -> Config:
        return self.loaded.config

    @property
    def limit(self) -> int:
        """`data.max_seq_length`, in tokens."""
        return self.config.data.max_seq_length

    @cached_property
    def token_bytes(self) -> TokenBytes:
        """The bytes of the tokenizer's tokens."""
        return TokenBytes(self.tokenizer)

    def tokenizer_flags(self) -> tuple[AuditFlag, ...]:
        """Findings that concern every row alike."""
        facts = self.examiner.renderer.facts
        return tuple(tokenizer_flags(self.tokenizer, facts)) if facts is not None else ()

    @property
    def added_system_prompt(self) -> str:
        """What the template says in the system's name where the data has no system turn."""
        facts = self.examiner.renderer.facts
        return facts.added_system_prompt if facts is not None else ""


def tell_nobody(what: str, done: int, total: int) -> None:
    """For those who do not want to know how far the opening is."""


def open_inspection(loaded: Loaded, needs_rows: bool = True, progress: ReadProgress = tell_nobody) -> Inspection:
    """Load the tokenizer and find the rows. Imports no torch.

    Without `needs_rows` data that is gone by now is no obstacle: then there are no rows. `progress` hears of what is
    being done (`reading data`, `downloading data`, `loading the tokenizer`), with the bytes done and the bytes known so
    far, both 0 where there are none to count.

    Raises:
        UserError: there is no usable tokenizer, or a source is missing or has no row at all.
    """
    model = loaded.config.model
    try:
        rows = _rows(loaded.config, _of_data(progress))
    except DataError:
        if needs_rows:
            raise
        rows = Rows(Corpus([]), Corpus([]))
    tokenizer = _tokenizer(model, progress)
    return Inspection(loaded, tokenizer, rows, Examiner(tokenizer, loaded.config.data))


def _tokenizer(model: Model, progress: ReadProgress) -> Any:
    progress(_TOKENIZER, 0, 0)
    folder = tokenizer_folder(
        model.name_or_path,
        model.trust_remote_code,
        lambda done, total: progress("downloading the tokenizer", done, total),
        model.init,
    )
    progress(_TOKENIZER, 0, 0)
    return load_tokenizer_without_torch(folder, model)


def _of_data(progress: ReadProgress) -> ReadProgress:
    """As `progress`, for what is told of the data: what is downloaded has to be named there."""
    return lambda what, done, total: progress("downloading data" if what == "downloading" else what, done, total)


def _rows(config: Config, progress: ReadProgress) -> Rows:
    train_sources, eval_sources = specs_of(config.data)
    training = Corpus(train_sources, progress=progress)
    evaluation = Corpus(eval_sources, first_row=len(training), progress=progress)
    rows = Rows(training, evaluation)
    if not len(rows):
        named = [source.path for source in (*train_sources, *eval_sources)]
        raise DataError(f"There is no row to look at in {', '.join(named) or 'data.dataset, which is empty'}.")
    return rows
