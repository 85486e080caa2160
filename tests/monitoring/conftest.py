from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.cli import main

Monitor = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def monitor(capsysbinary: pytest.CaptureFixture[bytes]) -> Monitor:
    """`pgs monitor TARGET --json`: the exit code and the document."""

    def ask(target: Path | str) -> tuple[int, dict[str, Any]]:
        code = main(["monitor", str(target), "--json"])
        return code, json.loads(capsysbinary.readouterr().out)

    return ask


@pytest.fixture
def log_of(tmp_path: Path) -> Callable[[Sequence[str]], Path]:
    """A log with these lines."""

    def write(lines: Sequence[str]) -> Path:
        path = tmp_path / "train.log"
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write
