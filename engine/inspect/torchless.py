"""A tokenizer without torch: looking at data must not wait for it, nor touch a GPU."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from engine.config.schema import Model as ModelConfig
from engine.errors import UserError
from engine.model.tokenizer import load_tokenizer


def load_tokenizer_without_torch(folder: Path, config: ModelConfig) -> Any:
    """The very tokenizer that training loads, in a process that never imports torch.

    transformers imports torch where it can, which takes seconds and memory, and uses none of it for a tokenizer.
    Only a tokenizer whose own code (`model.trust_remote_code`) asks for torch gets it.

    Raises:
        UserError: as `load_tokenizer`.
    """
    os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # it would say that models need torch
    if "torch" in sys.modules:
        return load_tokenizer(folder, config)
    _hide_torch()
    try:
        return load_tokenizer(folder, config)
    except UserError as error:
        if not isinstance(error.__cause__, ImportError) or "torch" not in str(error.__cause__):
            raise
    _show_torch()
    return load_tokenizer(folder, config)


def _hide_torch() -> None:
    """An import of torch fails at once from now on; libraries take it as not installed."""
    sys.modules["torch"] = None  # type: ignore[assignment]


def _show_torch() -> None:
    """Undo it, and let transformers look again at what is installed."""
    del sys.modules["torch"]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("transformers", "transformers_modules")]:
        del sys.modules[name]
