"""The recipes for Qwen3.5-4B: they load and run. What they say of their memory is tested in `tests/memory`."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli import main
from engine.config import load_config
from engine.config.not_yet import value_of
from engine.events import EventReader, Step
from tests.bench.training.recipes import recipe_named

CONFIGS = Path(__file__).parents[2] / "configs"
FOLDER = CONFIGS / "qwen35_4b"
RECIPES = sorted(FOLDER.glob("*.yaml"))
SIZES = ("data.max_seq_length", "train.per_device_batch_size", "train.gradient_checkpointing", "train.optimizer")
GPU_ALONE = ("--model.compile", "false", "--memory.float8_training", "false")
"""What a CPU cannot do, or not in the time of a test."""


@pytest.mark.parametrize(("stem", "row"), [("h100_80gb", "h100_80gb"), ("card_16gb", "all_2x2048_tiled")])
def test_the_bench_measures_what_the_recipe_says(stem: str, row: str) -> None:
    config = load_config(FOLDER / f"{stem}.yaml").config
    measured = recipe_named(row).settings
    keys = [key for key in measured if key.startswith(("memory.", "model.")) or key in SIZES]
    assert len(keys) >= 8
    assert {key: value_of(config, key) for key in keys} == {key: measured[key] for key in keys} | {
        "model.init": "pretrained"  # neither speed nor memory depends on the values of weights
    }


def test_the_recipes_are_those_that_are_promised() -> None:
    assert [path.stem for path in RECIPES] == ["a100_40gb", "a100_80gb", "b200", "card_16gb", "h100_80gb"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_moves_bfloat16_weights_by_small_steps_in_little_memory(path: Path) -> None:
    config = load_config(path).config
    assert (config.train.optimizer, config.train.learning_rate) == ("lion8bit", 3e-6)
    assert config.train.stochastic_rounding and config.memory.gradient_release
    assert config.train.max_grad_norm is None and config.model.torch_dtype == "bfloat16"
    head = path.read_text().split("\n\n")[0]
    for said in ("--model.init random", "Trains ", f"pgs-tui configs/qwen35_4b/{path.name}", "model.name_or_path"):
        assert said in head


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_trains_on_a_small_model_of_the_same_family(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    small = ["--model.name_or_path", str(CONFIGS / "quickstart" / "model"), "--model.init", "random"]
    short = ["--data.max_seq_length", "64", "--data.eval_samples", "2", "--train.max_steps", "2"]
    place = ["--train.output_dir", str(tmp_path / "runs")]
    assert main(["train", "--config", str(path), *small, *short, *place, *GPU_ALONE]) == 0
    [run] = (tmp_path / "runs").iterdir()
    steps = [stamped.event for stamped in EventReader(run / "events.jsonl").poll().events]
    assert [event.step for event in steps if isinstance(event, Step)] == [1, 2]
    assert (run / "final" / "config.json").is_file()
