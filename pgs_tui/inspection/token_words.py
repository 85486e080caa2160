"""The text of token ids, asked of a process of the engine, as far as this machine has the tokenizer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pgs_tui.runs.launcher import engine_environment

MODULE = "engine.inspect.token_words"
SECONDS = 120.0


def words_of(config: Path, ids: Sequence[int]) -> dict[int, str] | str:
    """The text of each id, or a sentence that says why there is none. Waits for the process; nothing is downloaded."""
    question = json.dumps({"config": str(config), "ids": list(ids)})
    try:
        done = subprocess.run(
            (sys.executable, "-m", MODULE),
            input=question,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            env=engine_environment(os.environ),
            check=True,
        )
        answer = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        return f"the tokens' text is not known: {error}"
    if "problem" in answer:
        return str(answer["problem"])
    return dict(zip(ids, answer["words"], strict=True))
