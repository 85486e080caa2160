"""Where relative paths start, and what a config is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import ConfigError, config_name, load_config


@pytest.fixture
def recipe(folder: Path) -> Path:
    """A config in a folder of its own, with everything it names beside it."""
    home = folder / "recipes"
    (home / "model").mkdir(parents=True)
    (home / "checkpoint").mkdir()
    (home / "a.jsonl").write_text("{}\n")
    (home / "b.jsonl").write_text("{}\n")
    (home / "recipe.yaml").write_text(
        "model:\n  name_or_path: model\n"
        "data:\n  dataset: [a.jsonl]\n  eval_dataset: ../recipes/b.jsonl\n"
        "train:\n  output_dir: out\n  resume_from: checkpoint\n"
    )
    return home / "recipe.yaml"


def test_paths_in_a_file_are_relative_to_the_file(recipe: Path) -> None:
    config = load_config("recipes/recipe.yaml").config
    home = recipe.parent
    assert config.model.name_or_path == str(home / "model")
    assert config.data.dataset == (str(home / "a.jsonl"),)
    assert config.data.eval_dataset == (str(home / "b.jsonl"),)
    assert config.train.resume_from == str(home / "checkpoint")


def test_output_dir_stays_as_written(recipe: Path) -> None:
    assert load_config("recipes/recipe.yaml").config.train.output_dir == "out"


def test_a_hub_name_stays_a_hub_name(recipe: Path) -> None:
    config = load_config(recipe, ["--model.name_or_path", "Qwen/Qwen3.5-4B", "--train.resume_from=auto"]).config
    assert config.model.name_or_path == "Qwen/Qwen3.5-4B"
    assert config.train.resume_from == "auto"


def test_the_home_folder_is_known(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(recipe.parent))
    config = load_config(recipe, ["--data.dataset=~/a.jsonl", "--train.output_dir=~/runs"]).config
    assert config.data.dataset == (str(recipe.parent / "a.jsonl"),)
    assert config.train.output_dir == str(recipe.parent / "runs")


def test_a_config_can_be_looked_at_without_its_files(recipe: Path) -> None:
    (recipe.parent / "a.jsonl").unlink()
    (recipe.parent / "checkpoint").rmdir()
    loaded = load_config(recipe, check_files=False)
    assert loaded.config.data.dataset == (str(recipe.parent / "a.jsonl"),)
    with pytest.raises(ConfigError) as refusal:
        load_config(recipe)
    assert [problem.key for problem in refusal.value.problems] == ["data.dataset", "train.resume_from"]


@pytest.mark.parametrize(
    "written", ["x" * 300 + ".jsonl", "~nobody-of-this-name/a.jsonl", "a.jsonl/b.jsonl", '"a\\0.jsonl"']
)
def test_paths_that_no_file_can_have_are_refused(recipe: Path, written: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_config(recipe, ["--data.dataset", written])
    assert [problem.key for problem in refusal.value.problems] == ["data.dataset"]


def test_a_checkpoint_must_be_a_folder(recipe: Path) -> None:
    with pytest.raises(ConfigError, match="is a file, not the folder of a checkpoint"):
        load_config(recipe, ["--train.resume_from", str(recipe)])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/x/configs/qwen35_4b/a100_40gb.yaml", "qwen35_4b/a100_40gb"),
        ("/x/configs/quickstart.yaml", "quickstart"),
        ("/configs/old/configs/new/a.yaml", "new/a"),
        ("/x/mine.v2.yml", "mine.v2"),
        ("/x/runs/20260102-030405-qwen35_4b-a100_40gb/config.yaml", "qwen35_4b-a100_40gb"),
        ("/x/configs/config.yaml", "config"),
    ],
)
def test_the_name_of_a_config(path: str, name: str) -> None:
    assert config_name(path) == name


def test_loading_tells_path_and_name(recipe: Path) -> None:
    loaded = load_config("recipes/recipe.yaml")
    assert (loaded.path, loaded.name) == (recipe, "recipe")
