"""Configs over small data sets and byte-level models, and ways to ask about them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: F401  (looking at data in a process without it would hide it from the tests that follow)
import yaml

from engine.cli import main
from tests.data import templates
from tests.data.conftest import byte_tokenizer, write_rows

MakeConfig = Callable[..., Path]


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """The output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Pgs = Callable[..., Said]


@pytest.fixture
def make_config(tmp_path: Path) -> MakeConfig:
    """A config over rows, with a byte-level tokenizer and a template; other keywords go to the `data` section."""

    def make(*rows: Any, template: str | None = templates.CHATML, tokenizer: Any = None, **keys: Any) -> Path:
        model = tmp_path / "model"
        (tokenizer or byte_tokenizer(template)).save_pretrained(model)
        (model / "config.json").write_text('{"model_type": "llama"}')
        write_rows(tmp_path / "chats.jsonl", *rows)
        config = {"model": {"name_or_path": "model"}, "data": {"dataset": "chats.jsonl", **keys}}
        path = tmp_path / "small.yaml"
        path.write_text(yaml.safe_dump(config))
        return path

    return make


@pytest.fixture
def pgs(capsys: pytest.CaptureFixture[str]) -> Pgs:
    """Run a command in this process."""

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


def run_apart(*arguments: object, environment: dict[str, str] | None = None, **options: Any) -> Said:
    """Run a command in a process of its own; UTF-8 that is broken shows."""
    done = subprocess.run(
        [sys.executable, "-m", "engine", *map(str, arguments)],
        capture_output=True,
        check=False,
        env={**os.environ, **(environment or {})},
        **options,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())
