"""Real runs of the engine on a model small enough to train in milliseconds."""

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from engine.cli import main
from engine.events import End, Event, EventReader, Step
from engine.rundir import RunDir

PROJECT = Path(__file__).parents[2]
QUICKSTART = PROJECT / "configs" / "quickstart"
ENVIRONMENT = {"PYTHONPATH": str(PROJECT), "OMP_NUM_THREADS": "1"}

E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class Outcome:
    """A run that has ended: its exit code, its directory and all its events."""

    code: int
    run: RunDir
    events: tuple[Event, ...]

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def losses(self) -> dict[int, float | None]:
        """By step; a step trained again after a resume replaces the earlier one."""
        return {event.step: event.loss for event in self.of(Step)}

    @property
    def end(self) -> End:
        last = self.events[-1]
        assert isinstance(last, End), f"the log ends with {last}"
        return last


def read_events(run: RunDir) -> tuple[Event, ...]:
    batch = EventReader(run.events).poll()
    assert batch.bad_lines == 0, batch.notes
    return tuple(stamped.event for stamped in batch.events)


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shape of a very small Qwen3 model and the quickstart's tokenizer."""
    folder = tmp_path_factory.mktemp("tiny")
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(QUICKSTART / "model" / name, folder / name)
    shape = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": 3072,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "tie_word_embeddings": True,
        "eos_token_id": 2,
        "pad_token_id": 3,
    }
    (folder / "config.json").write_text(json.dumps(shape))
    return folder


@pytest.fixture
def config_file(tmp_path: Path, tiny_model: Path) -> Path:
    """A config that trains the tiny model on sixty chats for twelve steps."""
    rows = (QUICKSTART / "train.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "train.jsonl").write_text("".join(rows[:60]))
    (tmp_path / "eval.jsonl").write_text("".join(rows[60:70]))
    config = {
        "model": {"name_or_path": str(tiny_model), "init": "random"},
        "data": {"dataset": "train.jsonl", "eval_dataset": "eval.jsonl", "max_seq_length": 64},
        "train": {
            "output_dir": str(tmp_path / "runs"),
            "max_steps": 12,
            "per_device_batch_size": 2,
            "learning_rate": 1.0e-3,
            "optimizer": "adamw",
            "warmup_steps": 2,
            "logging_steps": 1,
        },
    }
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def train(config_file: Path, tmp_path: Path) -> Callable[..., Outcome]:
    """Train in this process: `train("--train.max_steps", "3")`."""

    def run(*overrides: Any) -> Outcome:
        before = _runs(tmp_path)
        gc.freeze()  # a run collects garbage once: half a second for the libraries and all the tests that are loaded
        code = main(["train", "--config", str(config_file), *map(str, overrides)])
        new = sorted(_runs(tmp_path) - before, key=lambda path: path.stat().st_mtime) or sorted(before)
        return Outcome(code, RunDir(new[-1]), read_events(RunDir(new[-1])))

    return run


@pytest.fixture
def engine(config_file: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the engine in a process of its own; it is killed with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*overrides: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "engine", "train", "--config", str(config_file), *map(str, overrides)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **ENVIRONMENT},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _runs(folder: Path) -> set[Path]:
    runs = folder / "runs"
    return set(runs.iterdir()) if runs.is_dir() else set()
