"""Recipes and the figures of their runs: what is left out as warm-up, what counts, and a real small run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.bench.training.figures import figures, reached
from tests.bench.training.recipes import RECIPES, Aim, recipe_named
from tests.bench.training.runner import ENOUGH, WARM_UP, Ran, run_recipe
from tests.bench.training.together import run_together
from tests.bench.training.workload import fitting, read_keys, token_rows, write_workload

RECIPE = recipe_named("mixers_2x2048")


def step(number: int, dt: float, peak: float, **others: Any) -> dict[str, Any]:
    time = {"data": 0.001, "forward": dt / 2, "optimizer": None}
    memory = {"peak": peak, "reserved": peak + 1}
    event = {"event": "step", "step": number, "t": 100 + dt * number, "dt": dt, "tokens": 1000, "tok_s": 1000 / dt}
    return event | {"time": time, "mem": memory, "loss": 12.0 - number, "skipped": False, "recompiles": 0} | others


def ran(steps: list[dict[str, Any]]) -> Ran:
    return Ran(tuple(steps), ENOUGH, "")


def test_the_warm_up_counts_in_the_peak_of_memory_alone() -> None:
    slow = [step(number, 30.0, 20.0, recompiles=3) for number in range(1, WARM_UP + 1)]
    settled = [step(WARM_UP + number, 0.5, 10.0) for number in (1, 2, 3)]
    found = figures(RECIPE, ran([*slow, *settled]))
    assert found["tok_s"] == pytest.approx(2000)
    assert found["tok_s_over_all"] == pytest.approx(2000)
    assert found["time"] == {"data": 0.001, "forward": 0.25, "optimizer": None}
    assert (found["peak"], found["reserved"]) == (20.0, 21.0)
    assert found["recompiles"] == 0
    assert found["losses"] == [11.0, 5.0]


def test_a_run_that_came_to_nothing_tells_how_it_ended() -> None:
    found = figures(RECIPE, Ran((), "exit code 3 after step 0", "CUDA out of memory"))
    assert (found["ended"], found["printed"]) == ("exit code 3 after step 0", "CUDA out of memory")
    assert "tok_s" not in found


def test_an_aim_is_reached_at_its_very_number_and_unknown_numbers_are_not_judged() -> None:
    aim = Aim(peak=10.0, reserved=11.0, tok_s=5000)
    assert reached({"peak": 10.0, "reserved": 11.1, "tok_s": 5000.0}, aim) == {
        "peak": True,
        "reserved": False,
        "tok_s": True,
    }
    assert reached({"peak": None, "tok_s": 4999.0}, aim) == {"tok_s": False}


def test_keys_of_the_command_line_are_read_as_yaml_and_change_size_and_settings() -> None:
    keys = read_keys(["model.compile=false", "train.per_device_batch_size=8", "train.gradient_checkpointing=none"])
    recipe = RECIPE.with_keys(keys)
    assert (recipe.rows, recipe.length) == (8, 2048)
    assert recipe.settings["model.compile"] is False
    assert recipe.settings["train.freeze_non_attention"] is True
    with pytest.raises(SystemExit, match=r"SECTION\.KEY=VALUE"):
        read_keys(["compile"])


def test_rows_are_exactly_as_long_as_asked_for_and_the_same_each_time() -> None:
    rows = list(token_rows(2, 100))
    assert {len(row) for row in rows} == {100}
    assert rows == list(token_rows(2, 100))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_every_recipe_writes_its_settings_into_the_config(recipe: Any, tmp_path: Path) -> None:
    written = yaml.safe_load(write_workload(tmp_path, fitting(recipe, "tiny"), "tiny", 3).read_text())
    assert written["train"]["max_steps"] == 3
    assert written["train"]["per_device_batch_size"] == recipe.rows
    for key, value in recipe.keys.items():
        if key != "memory.loss_chunk_tokens":
            section, name = key.split(".")
            assert written[section][name] == value


def test_a_small_run_of_the_engine_is_ended_after_its_steps_and_gives_figures() -> None:
    recipe = fitting(RECIPE, "tiny").with_keys({"model.compile": False})
    found = figures(recipe, run_recipe(recipe, "tiny", WARM_UP + 3, timeout=120))
    assert found["ended"] == ENOUGH, found.get("printed")
    assert found["tok_s"] > 0
    assert found["model"]["trainable"] < found["model"]["params"]
    assert (found["peak"] is None) == (not torch.cuda.is_available())


def test_side_by_side_a_step_counts_only_after_the_standstill() -> None:
    slow = [step(number, 30.0, 20.0) for number in range(1, 8)]  # it stood behind the fifth
    settled = [step(7 + number, 0.5, 10.0) for number in (1, 2, 3)]
    found = figures(RECIPE, Ran((*slow, *settled), ENOUGH, "", warm_up=7))
    assert (found["settled_steps"], found["dt_range"]) == (3, [0.5, 0.5])
    assert found["peak"] == 20.0


def test_recipes_start_side_by_side_and_are_measured_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    keys = {"model.compile": False, "train.gradient_checkpointing": "none"}
    recipes = [fitting(recipe_named(name), "tiny").with_keys(keys) for name in ("all_2x2048_tiled", "all_4x4096_free")]
    found = list(run_together(recipes, "tiny", steps=3, timeout=120))
    assert [recipe.name for recipe, _ in found] == ["all_2x2048_tiled", "all_4x4096_free"]
    for recipe, ended in found:
        assert ended.ended == ENOUGH
        assert figures(recipe, ended)["settled_steps"] >= 3
