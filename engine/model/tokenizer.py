"""Loads a model's tokenizer. No torch import, so that looking at data needs none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import engine
from engine.config.schema import Model as ModelConfig
from engine.model.architectures import is_shipped
from engine.model.explain import explained

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def load_tokenizer(folder: Path, config: ModelConfig) -> PreTrainedTokenizerBase:
    """The model's tokenizer; for a shape that comes with the program, its own from the local cache or a small stand-in.

    Raises UserError when it is missing or needs code that may not run.
    """
    from transformers import AutoTokenizer

    folder = _place(folder, config)
    with explained(folder, config, "tokenizer"):
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=config.trust_remote_code, local_files_only=True
        )
    return tokenizer


def stand_in_note(folder: Path, config: ModelConfig) -> str | None:
    """One sentence for people where `load_tokenizer` takes another model's tokenizer, else None."""
    if not is_shipped(folder) or _cached(config) is not None:
        return None
    return (
        f"the tokenizer of {config.name_or_path} is not on this machine; the quickstart's small one stands in, "
        "which is as good for random weights."
    )


def _place(folder: Path, config: ModelConfig) -> Path:
    if not is_shipped(folder):
        return folder
    return _cached(config) or _quickstart()


def _cached(config: ModelConfig) -> Path | None:
    """The folder in the local cache of the hub that holds the model's own tokenizer."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(config.name_or_path, "tokenizer.json")
    settings = try_to_load_from_cache(config.name_or_path, "tokenizer_config.json")
    return Path(found).parent if isinstance(found, str) and isinstance(settings, str) else None


def _quickstart() -> Path:
    """The quickstart's model: in the source tree, or in the installed package."""
    root = Path(engine.__file__).resolve().parents[1]
    candidates = [root / place / "quickstart" / "model" for place in ("configs", "pgs_tui/configs")]
    return next((folder for folder in candidates if (folder / "tokenizer.json").is_file()), candidates[0])
