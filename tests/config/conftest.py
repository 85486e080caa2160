"""A folder with one small dataset, and a way to write and load configs in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import Loaded, load_config

Load = Callable[..., Loaded]

MINIMAL = "model:\n  name_or_path: org/model\ndata:\n  dataset: chats.jsonl\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test: it holds chats.jsonl and rows.json."""
    (tmp_path / "chats.jsonl").write_text('{"messages": []}\n')
    (tmp_path / "rows.json").write_text("[]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def load(folder: Path) -> Load:
    """Loads a minimal config with the given lines in its train section and the given flags."""

    def load(train: str = "", *flags: str) -> Loaded:
        lines = "".join(f"  {line}\n" for line in train.splitlines())
        (folder / "test.yaml").write_text(MINIMAL + (f"train:\n{lines}" if lines else ""))
        return load_config("test.yaml", flags)

    return load
