"""The text of token ids, by a model's tokenizer in the local cache of the hub: `python -m engine.inspect.token_words`.

For looking at a run of another machine, whose config names the model: nothing is downloaded, no path of that machine is
followed on this one, and no code of the model's runs here.

    stdin: {"config": path of a config.yaml, "ids": [17, 4711]}
    stdout: {"words": ["the", " end"]} or {"problem": "one sentence"}
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import UserError


def main() -> int:
    """Answer one question."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    question = json.load(sys.stdin)
    try:
        answer: dict[str, Any] = {"words": words_of(Path(question["config"]), question["ids"])}
    except UserError as error:
        answer = {"problem": str(error)}
    json.dump(answer, sys.stdout)
    return 0


def words_of(config: Path, ids: Sequence[int]) -> list[str]:
    """The text of each id; bytes that are no whole character become the replacement character.

    Raises:
        UserError: the config cannot be read, or its tokenizer is not on this machine.
    """
    from engine.config import ConfigError, load_config
    from engine.data.encoding.token_bytes import TokenBytes
    from engine.inspect.torchless import load_tokenizer_without_torch

    try:
        model = load_config(config, check_files=False).config.model
    except ConfigError:  # its text names a copy of the file that nobody has made by hand
        raise UserError("the run's config cannot be read") from None
    safe = model.model_copy(update={"trust_remote_code": False})
    tokens = TokenBytes(load_tokenizer_without_torch(_cached_folder(model.name_or_path), safe))
    return [tokens.of(token_id).decode(errors="replace") for token_id in ids]


def _cached_folder(name: str) -> Path:
    """Where the hub's cache has the tokenizer of a model of that name."""
    import huggingface_hub

    try:
        found = huggingface_hub.try_to_load_from_cache(name, "tokenizer.json")
    except huggingface_hub.errors.HFValidationError:
        found = None  # a path over there
    if not isinstance(found, str):
        raise UserError(f"the tokenizer of {name} is not in this machine's cache of the hub")
    return Path(found).parent


if __name__ == "__main__":
    sys.exit(main())
