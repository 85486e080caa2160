"""Loads a model's tokenizer. No torch import, so that looking at data needs none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.config.schema import Model as ModelConfig
from engine.model.explain import explained

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def load_tokenizer(folder: Path, config: ModelConfig) -> PreTrainedTokenizerBase:
    """The model's tokenizer. Raises UserError when it is missing or needs code that may not run."""
    from transformers import AutoTokenizer

    with explained(folder, config, "tokenizer"):
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=config.trust_remote_code, local_files_only=True
        )
    return tokenizer
