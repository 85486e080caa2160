"""A changed config as a new file: never over another one unasked, and its paths lead where they led."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.config import ConfigError, dump_config, load_config
from engine.config.edit import free_name, save_changed

RECIPE = """\
# yaml-language-server: $schema=../schema.json
model:
  name_or_path: model           # mine
data:
  sources:
    - path: ../chats/a.jsonl    # twice
      weight: 2
    - ~/b.jsonl
    - org/chats
  eval_dataset: [/e.jsonl, e.jsonl]
"""


@pytest.fixture
def recipe(folder: Path) -> Path:
    path = folder / "recipes" / "mine" / "a.yaml"
    (path.parent / "model").mkdir(parents=True)
    path.write_bytes(RECIPE.replace("\n", "\r\n").encode())
    return path


def test_a_copy_beside_it_differs_in_the_changed_line_alone(recipe: Path) -> None:
    target = save_changed(recipe, {"data.seed": 3}, free_name(recipe))
    assert target == recipe.with_name("a-2.yaml")
    assert target.read_bytes() == (RECIPE + "  seed: 3\n").replace("\n", "\r\n").encode()
    assert free_name(recipe) == recipe.with_name("a-3.yaml")
    assert free_name(target) == recipe.with_name("a-3.yaml")


def test_a_copy_in_another_folder_means_the_same_files(recipe: Path, folder: Path) -> None:
    target = save_changed(recipe, {"data.seed": 3}, folder / "copy.yaml")
    before, after = (load_config(path, check_files=False).config for path in (recipe, target))
    assert after == before.model_copy(update={"data": before.data.model_copy(update={"seed": 3})})
    lines = target.read_text().splitlines()
    assert lines[0] == "# yaml-language-server: $schema=recipes/schema.json"
    assert lines[2] == "  name_or_path: recipes/mine/model  # mine"
    assert "    - path: recipes/chats/a.jsonl  # twice" in lines
    assert "    - ~/b.jsonl" in lines and "    - org/chats" in lines


def test_the_config_of_a_run_can_be_copied_to_any_folder(recipe: Path, folder: Path) -> None:
    loaded = load_config(recipe, check_files=False)
    run = folder / "runs" / "20260101-000000-mine" / "config.yaml"
    run.parent.mkdir(parents=True)
    run.write_text(dump_config(loaded.config))
    assert "resume_from: null" in run.read_text()
    copy = save_changed(run, {"data.seed": 3}, folder / "copy.yaml")
    config = load_config(copy, check_files=False).config
    assert config.train == loaded.config.train and config.data.eval_dataset == loaded.config.data.eval_dataset


def test_a_path_that_would_lead_far_up_becomes_absolute(recipe: Path, folder: Path) -> None:
    deep = folder / "1" / "2" / "3" / "4"
    deep.mkdir(parents=True)
    text = save_changed(recipe, {}, deep / "copy.yaml").read_text()
    assert f"name_or_path: {recipe.parent}/model" in text and f"$schema={folder}/recipes/schema.json" in text


@pytest.mark.parametrize("name", ["there.yaml", "folder.yaml", "link.yaml"])
def test_nothing_is_replaced_unasked(recipe: Path, name: str) -> None:
    recipe.with_name("there.yaml").write_text("mine")
    recipe.with_name("folder.yaml").mkdir()
    recipe.with_name("link.yaml").symlink_to("nowhere.yaml")
    with pytest.raises(ConfigError, match="there already"):
        save_changed(recipe, {}, recipe.with_name(name))
    assert recipe.with_name("there.yaml").read_text() == "mine"
    assert not [path for path in recipe.parent.iterdir() if path.suffix == ".tmp"]


def test_it_is_replaced_when_asked_with_its_permissions_and_through_a_link(recipe: Path) -> None:
    recipe.chmod(0o640)
    link = recipe.with_name("link.yaml")
    link.symlink_to(recipe.name)
    save_changed(link, {"data.seed": 3}, link, overwrite=True)
    assert link.is_symlink() and recipe.read_text().endswith("  seed: 3\n")
    assert recipe.stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_written_is_told_in_a_sentence(recipe: Path, folder: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file or directory"):
        save_changed(recipe, {}, folder / "no" / "such" / "folder.yaml")
    with pytest.raises(ConfigError, match="no such file"):
        save_changed(folder / "none.yaml", {}, folder / "copy.yaml")


def test_a_config_that_would_not_load_is_not_written(recipe: Path) -> None:
    with pytest.raises(ConfigError, match="out of range"):
        save_changed(recipe, {"train.learning_rate": 3.0}, free_name(recipe))
    assert not free_name(recipe).exists()


def test_copies_of_runs_and_of_installed_configs_go_to_the_working_directory(folder: Path) -> None:
    run = folder / "runs" / "20260102-030405-qwen35_4b-a100_40gb" / "config.yaml"
    installed = folder / "lib" / "site-packages" / "pgs_tui" / "configs" / "quickstart.yaml"
    assert free_name(run) == folder / "qwen35_4b-a100_40gb.yaml"
    assert free_name(installed) == folder / "quickstart.yaml"
    (folder / "quickstart.yaml").touch()
    assert free_name(installed) == folder / "quickstart-2.yaml"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_files_is_passed_over(recipe: Path, folder: Path) -> None:
    recipe.parent.chmod(0o555)
    assert free_name(recipe).parent == folder
