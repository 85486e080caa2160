"""From a config to its rows and to what examines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.config import Config, Loaded
from engine.data.audit.flags import AuditFlag
from engine.data.audit.tokenizer_checks import tokenizer_flags
from engine.data.errors import DataError
from engine.data.examine import Examiner
from engine.data.sources.corpus import Corpus
from engine.data.sources.rows import SourceSpec
from engine.inspect.rows import Rows
from engine.inspect.torchless import load_tokenizer_without_torch
from engine.model.hub import tokenizer_folder


@dataclass(frozen=True, slots=True)
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

    def tokenizer_flags(self) -> tuple[AuditFlag, ...]:
        """Findings that concern every row alike."""
        return tuple(tokenizer_flags(self.tokenizer, self.examiner.renderer.facts))


def open_inspection(loaded: Loaded) -> Inspection:
    """Load the tokenizer and find the rows. Imports no torch.

    Raises:
        UserError: there is no usable tokenizer, or a source is missing or has no row at all.
    """
    model = loaded.config.model
    rows = _rows(loaded.config)
    folder = tokenizer_folder(model.name_or_path, model.trust_remote_code, lambda done, total: None)
    tokenizer = load_tokenizer_without_torch(folder, model)
    return Inspection(loaded, tokenizer, rows, Examiner(tokenizer, loaded.config.data))


def _rows(config: Config) -> Rows:
    data = config.data
    training = Corpus([SourceSpec(path) for path in data.dataset])
    evaluation = Corpus([SourceSpec(path) for path in data.eval_dataset or ()], first_row=len(training))
    rows = Rows(training, evaluation)
    if not len(rows):
        named = [*data.dataset, *(data.eval_dataset or ())]
        raise DataError(f"There is no row to look at in {', '.join(named) or 'data.dataset, which is empty'}.")
    return rows
